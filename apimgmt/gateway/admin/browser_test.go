package admin_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

func TestAPI_Handler_refusesWhatPagesElsewhereSend(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			store, _ := openStore(t, storage.NewMemoryDocuments())
			api, err := admin.New(admin.Config{Store: store, Hosts: hosts})
			require.NoError(t, err)
			return api.Handler()
		},
		Change: []string{"POST /admin/setup", "POST /admin/sign-in", "GET /services", "GET /config"},
		Link:   "/admin/",
	}.Check(t)
}
