package rest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_refusesRequestsOfOtherOrigins(t *testing.T) {
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return rest.NewHandler(s, &rest.HandlerOptions{Hosts: hosts})
	}}.Check(t)
}
