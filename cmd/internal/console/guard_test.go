package console_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_refusesReboundNames(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return console.NewHandler(console.Config{
				Services: func() []console.Service { return nil }, Channels: func() []console.Channel { return nil },
			}, &console.HandlerOptions{Hosts: hosts})
		},
		Read: "/console/state",
	}.Check(t)
}
