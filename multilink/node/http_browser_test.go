package node_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
)

func TestNode_Handler_refusesWhatPagesElsewhereSend(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			config := configOf(node.Server, newPlane("eth0"), storage.NewMemoryDocuments())
			config.Hosts = hosts
			return start(t, config).web
		},
		Change: []string{"GET /interfaces", "GET /status"},
		Link:   "/",
	}.Check(t)
}
