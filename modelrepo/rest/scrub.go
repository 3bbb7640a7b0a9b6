package rest

import (
	"encoding/json"
	"net/http"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// scrub requests a scrub and answers with the state of it.
func (r *rest) scrub(w http.ResponseWriter, req *http.Request) error {
	if req.ContentLength != 0 {
		return malformed("This address requests a scrub, and takes no body. An archive cannot be imported into a namespace 'scrub'.")
	}
	state, err := r.store.Scrub(req.Context())
	if err != nil {
		return err
	}
	body, err := json.Marshal(state)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body) // the client may have closed the connection
	return nil
}

// integrity answers with the state of the scrub, and what is damaged.
func (r *rest) integrity(w http.ResponseWriter, req *http.Request) error {
	known, err := r.store.Integrity(req.Context())
	return got(w, known, err)
}

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
