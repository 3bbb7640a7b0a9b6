package page_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	jobs, _ := jobstest.Run(t, flcollect.Config{})
	httpapitest.Access{
		Handler: page.NewHandler(jobs, &page.HandlerOptions{
			Root: true, REST: rest.HandlerOptions{Authorize: httpapitest.Authorize},
		}),
		Undocumented: map[string]string{
			"GET /": "reader", "GET /live/some": "reader", "GET /page/list.js": "public",
			"GET /new": "operator", "POST /new": "operator", "POST /new/estimate": "operator", "GET /compare": "reader",
			"GET /live/some/clients": "operator", "POST /live/some/stop": "operator", "POST /live/some/again": "operator",
			"GET /favicon.ico": "public",
			"GET /job/stop/":   "operator", "POST /v1/fleet/register-node": "reader",
		},
	}.Check(t)
}

// A reader's page neither has the report, which names all clients, nor requests it.
func TestNewHandler_showsReportsToOperatorsAlone(t *testing.T) {
	h := page.HandlerFor(jobstest.Reported(3), &page.HandlerOptions{Root: true, REST: rest.HandlerOptions{Authorize: httpapitest.Authorize}})
	page := jobstest.Ask(h, http.MethodGet, "/live/a", "", "Authorization", "Bearer operator").Body.String()
	require.Contains(t, page, "name:00001")
	require.Contains(t, page, `data-reports="shown"`)
	require.Contains(t, page, "/job/audit/a")
	page = jobstest.Ask(h, http.MethodGet, "/live/a", "", "Authorization", "Bearer reader").Body.String()
	require.Contains(t, page, "Last rounds")
	require.NotContains(t, page, "name:00001")
	require.Contains(t, page, `data-reports="hidden"`)
	require.NotContains(t, page, "/job/audit/a")
}
