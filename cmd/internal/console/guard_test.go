package console_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNew_refusesReboundNames(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return console.New(console.Config{
				Services: func() []console.Service { return nil }, Channels: func() []console.Channel { return nil }, Hosts: hosts,
			}, nil)
		},
		Read: "/console/state",
	}.Check(t)
}
