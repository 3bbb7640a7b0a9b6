package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/storage"
)

// damagedStore returns a repository with a version whose content is damaged: one byte of it has
// changed.
func damagedStore(t *testing.T) *modelrepo.Store {
	t.Helper()
	blobs := storage.NewMemoryBlobs()
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	content := strings.Repeat("a", 100_000)
	_, err = s.Upload(t.Context(), version, "f", strings.NewReader(content), nil)
	require.NoError(t, err)
	for info, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		blob, err := blobs.Create(t.Context(), info.Key)
		require.NoError(t, err)
		_, err = blob.Write([]byte("X" + content[1:]))
		require.NoError(t, err)
		_, err = blob.Commit(t.Context())
		require.NoError(t, err)
	}
	return s
}

func TestNewHandler_showsWhatIsDamaged(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	require.NotContains(t, v.page("/"), "damaged")
	require.Contains(t, v.page("/integrity"), "No content is known to be damaged.")
	require.Equal(t, "/integrity", v.follow("/integrity/scrub", nil))
	require.Contains(t, v.page("/integrity"), "requested")

	v.store = damagedStore(t)
	v.handler = http.StripPrefix("/ui/models", page.NewHandler(v.store, nil))
	require.Equal(t, http.StatusInternalServerError, v.get("/api/c/w3c/sosa/1.0").Code)
	require.Regexp(t, `<a href="[./]*integrity">1 content</a> of the repository is damaged`, v.page("/"))
	require.Regexp(t, `<a href="[./]*v/w3c/sosa/1.0">w3c/sosa/1.0</a> f`, v.page("/integrity"))
	require.Contains(t, v.page("/v/w3c/sosa/1.0"), ">damaged</a>")
}
