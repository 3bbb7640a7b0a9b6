package flcollect_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

// Stopping is no safe method, although the contract has a GET for it.
func TestNewHandler_refusesRequestsOfOtherOrigins(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, 1e6)
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return flcollect.NewHandler(w.Server, &flcollect.HandlerOptions{Hosts: hosts})
		},
		Change: []string{"GET /job/stop", "GET /job/stop/"},
	}.Check(t)
}
