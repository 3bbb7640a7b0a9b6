package apimgmt_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestPublisher_Handler_refusesWhatPagesElsewhereSend(t *testing.T) {
	w := newWorld(t)
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return w.publisher.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens(), Hosts: hosts})
	}}.Check(t)
}
