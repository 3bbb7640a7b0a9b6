package modelrepo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// TestActions_areThoseThatOperationsReport fails where an operation reports an action that the table does not
// have, and where no operation reports an action of the table.
func TestActions_areThoseThatOperationsReport(t *testing.T) {
	var changes []modelrepo.Change
	s, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Changed: func(c modelrepo.Change) { changes = append(changes, c) },
	})
	require.NoError(t, err)
	version := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, s.CreateModel(t.Context(), version.Parent(), modelrepo.ModelUpdate{}))
	require.NoError(t, s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
	_, err = s.Upload(t.Context(), version, "n3", strings.NewReader("<a> <b> <c>."), nil)
	require.NoError(t, err)
	require.NoError(t, s.DeleteContent(t.Context(), version, "n3", modelrepo.Condition{}))
	require.NoError(t, s.DeleteVersion(t.Context(), version))
	require.NoError(t, s.DeleteModel(t.Context(), version.Parent()))
	require.NoError(t, s.DeleteNamespace(t.Context(), "w3c"))

	var reported, known []modelrepo.Action
	for _, c := range changes {
		reported = append(reported, c.Action)
	}
	for _, info := range modelrepo.Actions() {
		known = append(known, info.Action)
		require.NotEmpty(t, info.Text, info.Action)
		require.Equal(t, strings.HasSuffix(string(info.Action), "_delete") && info.Action != modelrepo.ContentDelete,
			info.Deletes, info.Action)
		require.Equal(t, info, info.Action.Info())
	}
	require.ElementsMatch(t, known, reported)
}

func TestAction_Info_ofAnUnknownActionHasItsName(t *testing.T) {
	require.Equal(t, modelrepo.ActionInfo{Action: "model_read", Text: "model_read"}, modelrepo.Action("model_read").Info())
}

func TestWebhooks_Create_acceptsEveryAction(t *testing.T) {
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	for _, info := range modelrepo.Actions() {
		_, err := s.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{Action: info.Action, Callback: "https://example.org/"})
		require.NoError(t, err)
	}
	_, err = s.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{Action: "model_read", Callback: "https://example.org/"})
	require.ErrorIs(t, err, modelrepo.ErrInvalid)
}
