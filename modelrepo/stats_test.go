package modelrepo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Inventory_countsWhatIsVisible(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	made, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Zero(t, made)
	for key, data := range map[string]string{
		"namespace/w3c": `{"id":"a"}`, "namespace/new": `{"id":"b","mark":{"kind":"pending","by":"x"}}`,
		"model/w3c/sosa": `{"id":"c"}`, "model/w3c/ssn": `{"id":"d","mark":{"kind":"leaving","by":"x"}}`,
		"version/w3c/sosa/1": `{"id":"e"}`, "version/w3c/sosa/2": `{"id":"f"}`, "version/w3c/sosa/3": `{"id":"g"}`,
	} {
		_, err := documents.Create(t.Context(), key, []byte(data))
		require.NoError(t, err)
	}
	made, err = s.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, modelrepo.Inventory{Namespaces: 1, Models: 2, Versions: 3}, made)
}
