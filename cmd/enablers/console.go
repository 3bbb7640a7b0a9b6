package main

import (
	"context"
	"net/http"

	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/models"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
)

// linksBlock is the name of the block of multi-link, in the header and the overview.
const linksBlock = "Links"

// console returns the handler of the console's listener: the pages of all blocks beside the
// routes of the annotator.
func (s *settings) console(env *host.Env, blocks []*host.Block) http.Handler {
	var pages []console.Part
	mux := http.NewServeMux()
	for _, block := range blocks {
		pages = append(pages, block.Pages...)
		if block.Routes != nil {
			mux.Handle("/", block.Routes)
		}
	}
	first := overview.NewPage(overview.Config{Blocks: s.overview(blocks), Steps: s.steps(env), Events: &s.events},
		&overview.HandlerOptions{Hosts: env.Hosts, Authorize: env.Door.Authorizer(), Logger: env.Logger})
	mux.Handle("/{$}", http.RedirectHandler(console.Root, http.StatusSeeOther))
	mux.Handle("/console/", http.RedirectHandler(console.Root, http.StatusSeeOther))
	mux.Handle("/console/state", http.RedirectHandler(console.Root+"state", http.StatusSeeOther))
	mux.Handle("/favicon.ico", http.RedirectHandler(console.Root+"favicon.ico", http.StatusSeeOther))
	return console.Mount(mux, console.MountConfig{Name: "enablers", Person: env.Door.Person, Overview: first, Parts: pages})
}

// overview returns the function that describes the blocks: those with pages first.
func (s *settings) overview(blocks []*host.Block) func() []overview.Block {
	return func() []overview.Block {
		var all []overview.Block
		for _, pages := range []bool{true, false} {
			for _, block := range blocks {
				if block.Overview != nil && (block.Pages != nil) == pages {
					all = append(all, block.Overview())
				}
			}
		}
		return all
	}
}

// openAPIs opens API management within the console.
func (s *settings) openAPIs(ctx context.Context, env *host.Env) (*host.Block, error) {
	web := server.Reachable(env.Door.URL(s.web))
	s.apis.Home, s.apis.SignIn, s.apis.Origins = web+console.Root, web+"/.enablers/sign-in", []string{web}
	s.apis.Own = []string{publisher}
	s.apis.Frame = func(next, apis http.Handler) http.Handler {
		elsewhere := func(section, path string) console.Part {
			return console.Part{Section: section, Path: path, Elsewhere: web + console.Root + path}
		}
		return console.Mount(next, console.MountConfig{
			Name: "enablers", Person: env.Door.Person, Overview: http.RedirectHandler(web+console.Root, http.StatusSeeOther),
			Parts: []console.Part{
				elsewhere(annotation.Name, "annotation"), elsewhere(models.Name, "models"), elsewhere(collector.Name, "training"),
				{Section: management.Name, Path: "apis", Name: "Library", Handler: apis},
				{Section: management.Name, Path: "gateway", Name: "Gateway", Elsewhere: web + console.Root + "gateway"},
				elsewhere(linksBlock, "links"),
			},
		})
	}
	s.library = &library{apis: &s.apis, env: env}
	return s.apis.Open(ctx, env)
}
