package rest

import (
	"encoding/json"
	"net/http"

	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// scrub requests a scrub and answers with the state of it.
func (r *rest) scrub(w http.ResponseWriter, req *http.Request) error {
	if req.ContentLength != 0 {
		return web.Malformed("This address requests a scrub, and takes no body. An archive cannot be imported into a namespace 'scrub'.")
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
