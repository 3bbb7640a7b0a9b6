package page

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

func (p *pages) repository(w http.ResponseWriter, r *http.Request) error {
	listing, view := p.list(r, "Models", modelrepo.Path{})
	found, err := p.store.Namespaces(r.Context(), listing)
	if err != nil {
		return err
	}
	view.Total, view.Damaged = found.TotalCount, p.store.Stats().DamagedContents
	for _, n := range found.Items {
		view.add(item{At: modelrepo.Path{Namespace: n.Name}, Metadata: n.Metadata})
	}
	return p.part.Show(w, r, http.StatusOK, "repository.html", view)
}

// open leads to the page of a node by its path, which people paste.
func (p *pages) open(w http.ResponseWriter, r *http.Request) error {
	text := strings.Trim(strings.TrimSpace(r.URL.Query().Get("path")), "/")
	at, err := modelrepo.ParsePath(text)
	if err == nil && at.Version != "" {
		_, err = p.store.Version(r.Context(), at) // the tag may be an alias
	} else if err == nil {
		err = p.store.Exists(r.Context(), at)
	}
	if errors.Is(err, modelrepo.ErrNotFound) || errors.Is(err, modelrepo.ErrInvalid) {
		return &httpapi.Error{Status: http.StatusNotFound, Err: err, Detail: fmt.Sprintf("There is no '%.120s'. "+
			"Enter the path of a namespace, a model or a version, such as w3c/sosa/1.0.", text)}
	}
	if err != nil {
		return err
	}
	return shell.SeeOther(w, "./"+pageAddress(at), "")
}

func (p *pages) namespace(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	listing, view := p.list(r, at.Namespace, at)
	n, err := p.store.Namespace(r.Context(), at.Namespace, listing)
	if err != nil {
		return err
	}
	view.Metadata = n.Metadata
	if n.Models != nil {
		view.Total = n.Models.TotalCount
		for _, m := range n.Models.Items {
			path := modelrepo.Path{Namespace: m.Namespace, Model: m.Name}
			view.add(item{At: path, Metadata: m.Metadata, Latest: m.LatestVersion})
		}
	}
	return p.part.Show(w, r, http.StatusOK, "namespace.html", view)
}

// modelView is the page of a model.
type modelView struct {
	listView
	Model   modelrepo.Model
	Aliases []string
}

func (p *pages) model(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	listing, list := p.list(r, at.Model, at)
	m, err := p.store.Model(r.Context(), at, listing)
	if err != nil {
		return err
	}
	view := &modelView{listView: *list, Model: m, Aliases: slices.Sorted(maps.Keys(m.Aliases))}
	view.Metadata = m.Metadata
	if m.Versions != nil {
		view.Total = m.Versions.TotalCount
		for _, v := range m.Versions.Items {
			path := modelrepo.Path{Namespace: v.Namespace, Model: v.Model, Version: v.Version}
			view.add(item{At: path, Metadata: v.Metadata, Format: v.DefaultFormat, Immutable: v.Immutable,
				IsLatest: v.Version == m.LatestVersion})
		}
	}
	return p.part.Show(w, r, http.StatusOK, "model.html", view)
}
