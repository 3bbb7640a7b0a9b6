package repository_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_refusesRequestsOfOtherOrigins(t *testing.T) {
	store := memory(t)
	httpapitest.Guarded{New: func(hosts ...string) http.Handler {
		return repository.NewHandler(store, &repository.HandlerOptions{Hosts: hosts})
	}}.Check(t)
}
