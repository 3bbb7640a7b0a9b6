package console_test

import (
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	httpapitest.Access{
		Handler: console.NewHandler(console.Config{
			Services: func() []console.Service { return nil }, Channels: func() []console.Channel { return nil },
		}, &console.HandlerOptions{Authorize: httpapitest.Authorize}),
		Documents: map[string]string{},
		Undocumented: map[string]string{
			"GET /": "reader", "HEAD /": "reader", "GET /console/state": "reader", "GET /console/state/": "reader",
			"GET /console/assets/console.js": "public", "GET /console/assets/refused.js": "public", "GET /favicon.ico": "public",
		},
	}.Check(t)
}
