package modelrepo_test

import (
	"strconv"
	"strings"
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

func TestStore_Usage_countsAsLimitsDo(t *testing.T) {
	limits := modelrepo.Limits{NamespaceBytes: 1000}
	s, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Limits: limits,
	})
	require.NoError(t, err)
	require.Equal(t, limits, s.Limits())
	for namespace, sizes := range map[string][]int{"w3c": {100, 20}, "w3c-old": {3}} {
		require.NoError(t, s.CreateNamespace(t.Context(), namespace, modelrepo.NamespaceUpdate{}))
		at := modelrepo.Path{Namespace: namespace, Model: "m"}
		require.NoError(t, s.CreateModel(t.Context(), at, modelrepo.ModelUpdate{}))
		for i, size := range sizes {
			at.Version = strconv.Itoa(i)
			require.NoError(t, s.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
			for _, format := range []string{"a", "b"} { // the same bytes twice
				_, err := s.Upload(t.Context(), at, format, strings.NewReader(strings.Repeat("x", size)), nil)
				require.NoError(t, err)
			}
		}
	}
	used, err := s.Usage(t.Context(), "w3c")
	require.NoError(t, err)
	require.Equal(t, modelrepo.Usage{Models: 1, Versions: 2, Contents: 4, Bytes: 240}, used)
	used, err = s.Usage(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, modelrepo.Usage{Models: 2, Versions: 3, Contents: 6, Bytes: 246}, used)
	_, err = s.Usage(t.Context(), "none")
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
}
