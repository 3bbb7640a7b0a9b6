package devidp_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

// The protocol is for other origins, so there is no Change.
func TestProvider_Handler_refusesReboundNames(t *testing.T) {
	guarded := httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return open(t, func(c *devidp.Config) { c.BaseURL, c.Hosts = "http://login.example.org/auth", hosts }).Handler()
		},
		Read:     "/auth/realms/OpenAPI/.well-known/openid-configuration",
		AnyPages: true,
	}
	guarded.Check(t)
	guarded.CheckName(t, "login.example.org")
}
