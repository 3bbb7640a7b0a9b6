package manager_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_refusesRequestsOfPagesElsewhere(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return manager.NewHandler(m, &manager.HandlerOptions{Hosts: hosts})
	}}.Check(t)
}
