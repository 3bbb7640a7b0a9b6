package collector

import (
	"context"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/internal/version"
)

// below is the prefix of the complete interface of the repository.
const below = "/repository"

// beside are the first segments of the repository's paths that are beside those
// of the collector.
func beside() []string {
	return []string{"/model", "/models", "/training-results", "/strategy", "/collector", "/transformation"}
}

// Handler returns the interfaces behind the door, see the package documentation.
func (c *Collector) Handler() http.Handler {
	authorize := c.config.Door.Authorizer()
	mux := http.NewServeMux()
	mux.Handle("/", flcollect.NewHandler(c.Jobs, &flcollect.HandlerOptions{
		Version: version.String(), Hosts: c.config.Hosts, Authorize: authorize, Logger: c.log,
	}))
	if c.repository != nil {
		inside := repository.NewHandler(c.repository, &repository.HandlerOptions{
			Version: version.String(), Hosts: c.config.Hosts, Authorize: authorize, Logger: c.log,
		})
		for _, path := range beside() {
			mux.Handle(path, inside)
			mux.Handle(path+"/", inside)
		}
		mux.Handle(below+"/", http.StripPrefix(below, inside))
	}
	return c.config.Door.Handler(c.untilOver(mux))
}

// untilOver ends streams of events when the jobs end: there are no more events, and the
// streams would delay the end of the web server.
func (c *Collector) untilOver(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/job/events/") {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(c.over, cancel)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}
