package rest_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_refusesWhatPagesElsewhereSend(t *testing.T) {
	w := apitest.New(t)
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return rest.NewHandler(w.Publisher, &rest.HandlerOptions{Verifier: apitest.Tokens(), Hosts: hosts})
	}}.Check(t)
}
