package page

import (
	"net/http"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// integrityView is the page about damaged content.
type integrityView struct {
	shell.Frame
	modelrepo.Integrity
	Paths map[string]modelrepo.Path
}

func (p *pages) integrity(w http.ResponseWriter, r *http.Request) error {
	known, err := p.store.Integrity(r.Context())
	if err != nil {
		return err
	}
	view := &integrityView{Frame: p.part.Frame(r, "Integrity"), Integrity: known, Paths: map[string]modelrepo.Path{}}
	for _, d := range known.Damaged {
		for _, v := range d.Versions {
			if view.Paths[v.Version], err = modelrepo.ParsePath(v.Version); err != nil {
				return err
			}
		}
	}
	return p.part.Show(w, r, http.StatusOK, "integrity.html", view)
}

func (p *pages) scrub(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.store.Scrub(r.Context()); err != nil {
		return err
	}
	return shell.SeeOther(w, "../integrity", "The scrub is requested.")
}
