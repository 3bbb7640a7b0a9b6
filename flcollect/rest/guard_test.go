package rest_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

// Stopping is no safe method, although the contract has a GET for it.
func TestNewHandler_refusesRequestsOfOtherOrigins(t *testing.T) {
	jobs, _ := jobstest.Run(t, flcollect.Config{})
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return rest.NewHandler(jobs, &rest.HandlerOptions{Hosts: hosts})
		},
		Change: []string{"GET /job/stop", "GET /job/stop/"},
	}.Check(t)
}
