package rest_test

import (
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Access{
		Handler: rest.NewHandler(m, &rest.HandlerOptions{Authorize: httpapitest.Authorize}),
		// Identifiers may have slashes.
		Undocumented: map[string]string{
			"GET /channels/a/b": "reader", "DELETE /channels/a/b": "operator", "PATCH /channels/a/b/restart": "operator",
			"PUT /channels/a%2Fb/mapping": "operator", "GET /channels/": "reader", "POST /channels/": "operator",
		},
	}.Check(t)
}
