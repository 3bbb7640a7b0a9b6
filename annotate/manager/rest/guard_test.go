package rest_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_refusesRequestsOfPagesElsewhere(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return rest.NewHandler(m, &rest.HandlerOptions{Hosts: hosts})
	}}.Check(t)
}
