package portal_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestPortal_Handler_refusesWhatPagesElsewhereSend(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return newWorld(t, func(c *portal.Config) { c.Hosts = hosts }).portal.Handler()
		},
		Read:   "/favicon.ico",
		Change: []string{"POST /logout", "POST /apis", "POST /apis/x", "POST /apis/x/state", "POST /apis/x/delete"},
	}.Check(t)
}

func TestPortal_Handler_isAnsweredUnderTheNameOfItsURL(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return newWorld(t, func(c *portal.Config) { c.URL, c.Hosts = "https://apis.example.org", hosts }).portal.Handler()
		},
		Read: "/favicon.ico",
	}.CheckName(t, "apis.example.org")
}
