package node

import (
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink"
)

func (r *rest) addClient(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.config.only(Server); err != nil {
		return err
	}
	var form clientForm
	if err := read(req, &form); err != nil {
		return err
	}
	p, err := r.node.addClient(req.Context(), form)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, p)
}

func (r *rest) listClients(w http.ResponseWriter, _ *http.Request) error {
	if err := r.node.config.only(Server); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, records{r.node}.clientRecords(r.node.now.Load()))
}

// keyOf is the public key that a request names in its body or, as bodies of DELETE get
// lost on the way, in its query.
func (r *rest) keyOf(req *http.Request) (string, error) {
	if err := r.node.config.only(Server); err != nil {
		return "", err
	}
	if query := req.URL.Query(); query.Has("public_key") {
		return strings.ReplaceAll(query.Get("public_key"), " ", "+"), nil // which a plus that was not escaped reads as
	}
	var form keyForm
	err := read(req, &form)
	return form.PublicKey, err
}

func (r *rest) enableClient(enabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		key, err := r.keyOf(req)
		if err != nil {
			return err
		}
		_, changed, err := r.node.enableClient(req.Context(), key, enabled)
		if err != nil {
			return err
		}
		seen := map[multilink.Key]multilink.PeerStatus{}
		for _, status := range r.node.config.Plane.Status().Peers {
			seen[status.PublicKey] = status
		}
		return writeJSON(w, http.StatusOK, changed.record(seen))
	}
}

func (r *rest) deleteClient(w http.ResponseWriter, req *http.Request) error {
	key, err := r.keyOf(req)
	if err != nil {
		return err
	}
	if err := r.node.deleteClient(req.Context(), key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *rest) provisionAgain(w http.ResponseWriter, req *http.Request) error {
	key, err := r.keyOf(req)
	if err != nil {
		return err
	}
	if err := r.node.config.only(Server); err != nil {
		return err
	}
	p, err := r.node.now.Load().provisionAgain(key)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p)
}

// attach takes the object that a server has answered with, and the server's URL. What
// it has besides is of later versions, and does not matter.
func (r *rest) attach(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.config.only(Client); err != nil {
		return err
	}
	data, err := httpapi.ReadBody(req, "", maxBody)
	if err != nil {
		return err
	}
	var p provision
	if err := decode(data, &p, true); err != nil {
		return err
	}
	next, err := r.node.attach(req.Context(), p)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, records{r.node}.attachmentRecord(next))
}

func (r *rest) getAttachment(w http.ResponseWriter, _ *http.Request) error {
	if err := r.node.config.only(Client); err != nil {
		return err
	}
	record := records{r.node}.attachmentRecord(r.node.now.Load())
	if record == nil {
		return absent("", "this client is not attached to a server")
	}
	return writeJSON(w, http.StatusOK, record)
}

func (r *rest) detach(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.detach(req.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *rest) status(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, records{r.node}.statusRecord())
}
