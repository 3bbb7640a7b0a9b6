package page

import "net/http"

// Jobs is what the pages need of a Server, for tests of what a Server seldom does.
type Jobs = jobs

// HandlerFor returns the pages of whatever has jobs, without the REST interface.
func HandlerFor(jobs Jobs, opts *HandlerOptions) http.Handler { return newPages(jobs, opts).handler() }
