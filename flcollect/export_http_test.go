package flcollect

import (
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Jobs is what the REST interface needs of a Server, for tests of what a Server
// seldom does.
type Jobs = jobs

// HandlerOf returns the REST interface of whatever has jobs.
func HandlerOf(jobs Jobs, opts *HandlerOptions) http.Handler { return newREST(jobs, opts).handler() }

// RoutesAndDocument returns what has to agree.
func RoutesAndDocument() ([]httpapi.Route, []byte) { return newREST(&Server{}, nil).routes(), openapi }

// Detail is a fault of a request in the form that clients read.
type Detail = detail

// DetailsOf returns the details with which an error is answered.
func DetailsOf(err error) []Detail { return detailsOf(err) }
