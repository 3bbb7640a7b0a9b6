package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	httpapitest.Access{
		Handler:      rest.NewHandler(s, &rest.HandlerOptions{Authorize: httpapitest.Authorize}),
		Undocumented: map[string]string{"GET /page.css": "public", "POST /h/": "admin", "DELETE /a/b/c/": "operator"},
	}.Check(t)
}
