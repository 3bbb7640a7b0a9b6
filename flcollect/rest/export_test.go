package rest

import (
	"net/http"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Jobs is what the REST interface needs of a Server, for tests of what a Server
// seldom does.
type Jobs = jobs

// HandlerFor returns the REST interface of whatever has jobs.
func HandlerFor(jobs Jobs, opts *HandlerOptions) http.Handler { return newREST(jobs, opts).handler() }

// RoutesAndDocument returns what has to agree.
func RoutesAndDocument() ([]httpapi.Route, []byte) {
	return newREST(&flcollect.Server{}, nil).routes(), openapi
}
