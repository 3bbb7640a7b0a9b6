package page

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// versionView is the page of a version.
type versionView struct {
	shell.Frame
	At               modelrepo.Path
	Version          modelrepo.Version
	Formats          []formatView
	HasDocumentation bool
	Aliases          []string // that name the version
	IsLatest         bool
}

// formatView is the content of a version in one format.
type formatView struct {
	Format    string
	IsDefault bool
	IsDamaged bool
	modelrepo.File
}

func (p *pages) version(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	v, err := p.store.Version(r.Context(), at)
	if err != nil {
		return err
	}
	at.Version = v.Version // of an alias
	view := &versionView{Frame: p.part.Frame(r, at.Model+" "+v.Version, trail(at)...), At: at, Version: v}
	damaged, err := p.store.DamagedFormats(r.Context(), at)
	if err != nil {
		return err
	}
	for _, format := range slices.Sorted(maps.Keys(v.Formats)) {
		view.Formats = append(view.Formats, formatView{format, format == v.DefaultFormat, damaged[format], v.Formats[format]})
	}
	m, err := p.store.Model(r.Context(), at.Parent(), few())
	if err != nil {
		return err
	}
	view.IsLatest = m.LatestVersion == at.Version
	for _, alias := range slices.Sorted(maps.Keys(m.Aliases)) {
		if m.Aliases[alias] == at.Version {
			view.Aliases = append(view.Aliases, alias)
		}
	}
	page, err := p.store.OpenPage(r.Context(), at, "")
	switch {
	case err == nil:
		view.HasDocumentation = true
		_ = page.Close() // nothing was read
	case !errors.Is(err, modelrepo.ErrNotFound):
		return err
	}
	return p.part.Show(w, r, http.StatusOK, "version.html", view)
}
