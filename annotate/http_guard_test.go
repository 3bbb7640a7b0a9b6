package annotate_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

func TestManager_Handler_refusesWhatPagesElsewhereSend(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return m.Handler(&annotate.HandlerOptions{Hosts: hosts})
	}}.Check(t)
}
