package rest_test

import (
	"testing"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	jobs, _ := jobstest.Run(t, flcollect.Config{})
	httpapitest.Access{
		Handler:      rest.NewHandler(jobs, &rest.HandlerOptions{Authorize: httpapitest.Authorize}),
		Undocumented: map[string]string{"GET /job/stop/": "operator", "POST /v1/fleet/register-node": "reader"},
	}.Check(t)
}
