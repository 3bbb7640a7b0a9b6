package page

import (
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

func (p *pages) createNamespace(r *http.Request, f *nodeForm) (err error) {
	var with modelrepo.NamespaceUpdate
	if with.Metadata, err = f.metadata(); err != nil {
		return err
	}
	f.Made.Namespace = f.Get("name")
	f.Done = "The namespace is created. Now create a model in it."
	return p.store.CreateNamespace(r.Context(), f.Made.Namespace, with)
}

func (p *pages) createModel(r *http.Request, f *nodeForm) (err error) {
	var with modelrepo.ModelUpdate
	if with.Metadata, err = f.metadata(); err != nil {
		return err
	}
	f.Made.Model = f.Get("name")
	f.Done = "The model is created. Now create a version of it."
	return p.store.CreateModel(r.Context(), f.Made, with)
}

func (p *pages) createVersion(r *http.Request, f *nodeForm) (err error) {
	var with modelrepo.VersionUpdate
	if with.Metadata, err = f.metadata(); err != nil {
		return err
	}
	f.Made.Version = f.Get("name")
	f.Done = "The version is created. Now upload its content."
	return p.store.CreateVersion(r.Context(), f.Made, with)
}

// few is a listing for what is not shown.
func few() *modelrepo.Listing { return &modelrepo.Listing{PageSize: 1} }

func (p *pages) readNamespace(r *http.Request, f *nodeForm) error {
	n, err := p.store.Namespace(r.Context(), f.At.Namespace, few())
	f.fill("metadata", metadataText(n.Metadata))
	return err
}

func (p *pages) changeNamespace(r *http.Request, f *nodeForm) (err error) {
	var to modelrepo.NamespaceUpdate
	if to.Metadata, err = f.metadata(); err != nil {
		return err
	}
	different, err := p.store.UpdateNamespace(r.Context(), f.At.Namespace, to)
	f.changed(different)
	return err
}

func (p *pages) readModel(r *http.Request, f *nodeForm) error {
	m, err := p.store.Model(r.Context(), f.At, few())
	f.fill("metadata", metadataText(m.Metadata))
	f.fill("latest", m.LatestVersion)
	var aliases strings.Builder
	for _, alias := range slices.Sorted(maps.Keys(m.Aliases)) {
		fmt.Fprintf(&aliases, "%s: %s\n", alias, m.Aliases[alias])
	}
	f.fill("aliases", aliases.String())
	return err
}

func (p *pages) changeModel(r *http.Request, f *nodeForm) (err error) {
	to := modelrepo.ModelUpdate{LatestVersion: f.tag("latest")}
	if to.Metadata, err = f.metadata(); err != nil {
		return err
	}
	if to.Aliases, err = f.aliases(); err != nil {
		return err
	}
	different, err := p.store.UpdateModel(r.Context(), f.At, to)
	f.changed(different)
	return err
}

func (p *pages) readVersion(r *http.Request, f *nodeForm) error {
	v, err := p.store.Version(r.Context(), f.At)
	f.fill("metadata", metadataText(v.Metadata))
	f.fill("defaultFormat", v.DefaultFormat)
	return err
}

func (p *pages) changeVersion(r *http.Request, f *nodeForm) (err error) {
	to := modelrepo.VersionUpdate{DefaultFormat: f.tag("defaultFormat"), Immutable: f.Get("immutable") != ""}
	if to.Metadata, err = f.metadata(); err != nil {
		return err
	}
	different, err := p.store.UpdateVersion(r.Context(), f.At, to)
	f.changed(different)
	return err
}

func (p *pages) deleteNamespace(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	if err := p.store.DeleteNamespace(r.Context(), at.Namespace); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../", "The namespace "+at.Namespace+" is deleted.")
}

func (p *pages) deleteModel(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	if err := p.store.DeleteModel(r.Context(), at); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../"+pageAddress(at.Parent()), "The model "+at.Model+" is deleted.")
}

// deleteVersion deletes a version; an immutable one, whose content goes with it, and one that
// aliases name, which go with it, only if its tag was typed.
func (p *pages) deleteVersion(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	at, force := web.RequestPath(r), r.PostForm.Has("tag")
	if force && strings.TrimSpace(r.PostForm.Get("tag")) != at.Version {
		return web.Malformed("Nothing was deleted. Type the tag " + at.Version + " to delete the version.")
	}
	removed, err := p.store.RemoveVersion(r.Context(), at, &modelrepo.RemoveOptions{Force: force})
	if err != nil {
		return err
	}
	done := append([]string{"The version " + at.Version + " is deleted."}, web.RemovalWarnings(at, removed)...)
	return shell.SeeOther(w, "../../../../"+pageAddress(at.Parent()), strings.Join(done, " "))
}
