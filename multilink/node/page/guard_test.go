package page_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
)

func TestNewHandler_refusesWhatPagesElsewhereSend(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			config := served(node.Server)
			config.REST.Hosts = hosts
			return nodetest.Start(t, config).Web
		},
		Change: []string{"GET /interfaces", "GET /status"},
		Link:   "/",
	}.Check(t)
}
