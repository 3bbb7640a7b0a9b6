package collector

import (
	"context"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/internal/version"
)

// below is the prefix of the complete interface of the repository.
const below = "/repository"

// beside are the first segments of the repository's paths that are beside those
// of the collector.
func beside() []string {
	return []string{"/model", "/models", "/training-results", "/strategy", "/collector", "/transformation"}
}

// options are those of the pages of the jobs and of the REST interface.
func (c *Collector) options() *page.HandlerOptions {
	options := &page.HandlerOptions{Fleet: c.fleetEndpoint(), REST: rest.HandlerOptions{
		Version: version.String(), Hosts: c.config.Hosts, Authorize: c.config.Door.Authorizer(), Logger: c.log,
	}}
	if c.config.Clients != nil {
		options.Clients = page.ClientEndpoint{
			Address: c.config.Clients.String(), TLS: c.config.TLS != nil, Token: !c.config.OpenToClients && !c.config.Door.IsOpen(),
		}
	}
	return options
}

// Page returns the pages of the jobs. They are not behind the door.
func (c *Collector) Page() http.Handler { return c.untilOver(page.NewHandler(c.Jobs, c.options())) }

// Handler returns the interfaces and the pages behind the door, see the package
// documentation.
func (c *Collector) Handler() http.Handler {
	authorize := c.config.Door.Authorizer()
	whole := c.options()
	whole.Root = true
	mux := http.NewServeMux()
	mux.Handle("/", c.untilOver(page.NewHandler(c.Jobs, whole)))
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
	return c.config.Door.Handler(console.Mount(mux, console.MountConfig{
		Name: "Training collector", Person: c.config.Door.Person,
		Parts: []console.Part{{Section: "Training", Path: "training", Handler: c.Page()}},
	}))
}

// untilOver ends streams of events when the jobs end: there are no more events, and the
// streams would delay the end of the web server.
func (c *Collector) untilOver(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(strings.TrimPrefix(r.URL.Path, "/api"), "/job/events/") {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(c.over, cancel)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}
