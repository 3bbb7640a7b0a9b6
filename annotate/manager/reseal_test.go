package manager_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/storage"
)

// storedInClear is a record with a member that this version does not know.
const storedInClear = `{
	"settings": {"channelId": "x"}, "later": {"a": 1},
	"credentials": {"inputTopicSettings": "clear:{\"user\":\"u\",\"password\":\"mqtt-p4ss\"}"}
}`

func TestResealCredentials_encryptsAndKeepsTheRest(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	for key, text := range map[string]string{
		"channels/x": storedInClear, "channels/plain": `{"settings": {"channelId": "plain"}}`,
		"channels/damaged": `[]`, "annotations/1": storedInClear,
	} {
		_, err := documents.Create(t.Context(), key, []byte(text))
		require.NoError(t, err)
	}
	one, two := strings.Repeat("1", manager.SecretLength), strings.Repeat("2", manager.SecretLength)
	counted := func(secret string) manager.StoredCredentials {
		counts, err := manager.CountCredentials(t.Context(), documents, secret)
		require.NoError(t, err)
		return counts
	}
	require.Equal(t, manager.StoredCredentials{Clear: 1}, counted(""))
	require.Equal(t, manager.StoredCredentials{Clear: 1}, counted(one))
	for i, secrets := range [][2]string{{one, ""}, {two, one}} {
		count, err := manager.ResealCredentials(t.Context(), documents, secrets[0], secrets[1])
		require.NoError(t, err)
		require.Equal(t, 1, count, "%d", i)
		again, err := manager.ResealCredentials(t.Context(), documents, secrets[0], secrets[1])
		require.NoError(t, err)
		require.Zero(t, again)
		require.Equal(t, manager.StoredCredentials{Sealed: 1}, counted(secrets[0]))
	}
	require.Equal(t, manager.StoredCredentials{Lost: 1}, counted(one))
	count, err := manager.ResealCredentials(t.Context(), documents, one, "")
	require.NoError(t, err)
	require.Zero(t, count, "what no secret opens stays as it is")
	require.Equal(t, manager.StoredCredentials{Sealed: 1}, counted(two))

	doc, err := documents.Get(t.Context(), "channels/x")
	require.NoError(t, err)
	require.NotContains(t, string(doc.Data), "mqtt-p4ss")
	var members map[string]any
	require.NoError(t, json.Unmarshal(doc.Data, &members))
	require.Equal(t, map[string]any{"a": 1.0}, members["later"])
}

func TestResealCredentials_refusesBadSecrets(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	for _, secrets := range [][2]string{{"", ""}, {"short", ""}, {strings.Repeat("1", manager.SecretLength), "short"}} {
		_, err := manager.ResealCredentials(t.Context(), documents, secrets[0], secrets[1])
		require.ErrorContains(t, err, "manager: ")
	}
}
