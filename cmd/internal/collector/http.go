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
		Version: version.String(), Hosts: c.env.Hosts, Authorize: c.env.Door.Authorizer(), Logger: c.log,
	}}
	options.Clients = page.ClientEndpoint{
		Address: c.Clients.Addr().String(), TLS: c.tls != nil, Token: !c.isOpenToClients() && !c.env.Door.IsOpen(),
	}
	return options
}

// page returns the pages of the jobs. They are not behind the door.
func (c *Collector) page() http.Handler { return c.untilOver(page.NewHandler(c.Jobs, c.options())) }

// handler returns the interfaces and the pages, see the package documentation.
func (c *Collector) handler() http.Handler {
	authorize := c.env.Door.Authorizer()
	whole := c.options()
	whole.Root = true
	mux := http.NewServeMux()
	mux.Handle("/", c.untilOver(page.NewHandler(c.Jobs, whole)))
	if c.repository != nil {
		inside := repository.NewHandler(c.repository, &repository.HandlerOptions{
			Version: version.String(), Hosts: c.env.Hosts, Authorize: authorize, Logger: c.log,
		})
		for _, path := range beside() {
			mux.Handle(path, inside)
			mux.Handle(path+"/", inside)
		}
		mux.Handle(below+"/", http.StripPrefix(below, inside))
	}
	return console.Mount(mux, console.MountConfig{
		Name: "Training collector", Person: c.env.Door.Person,
		Parts: []console.Part{{Section: Name, Path: "training", Handler: c.page()}},
	})
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
