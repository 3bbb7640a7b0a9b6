package datafolder_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage"
)

func TestMark_letsBlocksWithOtherKeysIn(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	for range 2 {
		for _, block := range []string{datafolder.Annotator, datafolder.ModelRepo, datafolder.FLCollector, datafolder.APIManager} {
			require.NoError(t, datafolder.Mark(t.Context(), documents, block), block)
		}
	}
	marks, err := documents.List(t.Context(), "owner/", "", 0)
	require.NoError(t, err)
	require.Len(t, marks, 4)
	require.JSONEq(t, `{"owner":"annotator","format":1}`, string(marks[0].Data))
}

func TestMark_refusesABlockWhoseKeysCollide(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	require.NoError(t, datafolder.Mark(t.Context(), documents, datafolder.ModelRepo))
	err := datafolder.MarkWith(t.Context(), documents, datafolder.Annotator, "root")
	require.ErrorIs(t, err, datafolder.ErrMarked)
	require.ErrorContains(t, err, `it is that of modelrepo, and this is annotator: both use keys that begin with "root"; `+
		"give annotator a database of its own")
	require.NoError(t, datafolder.Mark(t.Context(), documents, datafolder.ModelRepo), "the refused block has left no mark")
	marks, err := documents.List(t.Context(), "owner/", "", 0)
	require.NoError(t, err)
	require.Len(t, marks, 1)
}

func TestMark_refusesWhatItDoesNotKnow(t *testing.T) {
	for key, c := range map[string]struct{ data, want string }{
		"owner/weather": {`{"owner":"weather","format":1}`,
			"it is that of weather, and this is modelrepo: this version does not know the keys of weather"},
		"owner/modelrepo": {`{"owner":"modelrepo","format":2}`,
			"a newer version of modelrepo wrote format 2, and this one reads up to 1"},
	} {
		documents := storage.NewMemoryDocuments()
		_, err := documents.Create(t.Context(), key, []byte(c.data))
		require.NoError(t, err)
		err = datafolder.Mark(t.Context(), documents, datafolder.ModelRepo)
		require.ErrorIs(t, err, datafolder.ErrMarked)
		require.ErrorContains(t, err, c.want)
	}
	documents := storage.NewMemoryDocuments()
	_, err := documents.Create(t.Context(), "owner/modelrepo", []byte(`{}`))
	require.NoError(t, err)
	require.ErrorContains(t, datafolder.Mark(t.Context(), documents, datafolder.ModelRepo), `"owner/modelrepo" does not say whose`)
}

func TestMark_byManyProcessesAtOnce(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	var group sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		group.Go(func() { errs[i] = datafolder.Mark(t.Context(), documents, datafolder.APIManager) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
