package rest

import (
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
)

func (r *API) addClient(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.Settings().Only(desired.RoleServer); err != nil {
		return err
	}
	var form desired.ClientForm
	if err := read(req, &form); err != nil {
		return err
	}
	admission := desired.Admit(form)
	next, err := r.node.Change(req.Context(), admission.Edit())
	if err != nil {
		return err
	}
	p, err := admission.Provision(next)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusCreated, p)
}

func (r *API) listClients(w http.ResponseWriter, _ *http.Request) error {
	s := r.node.Settings()
	if err := s.Only(desired.RoleServer); err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, r.node.View(s).Clients())
}

// requestedKey returns the public key that a request names in its body or, as bodies of DELETE get
// lost on the way, in its query.
func (r *API) requestedKey(req *http.Request) (string, error) {
	if err := r.node.Settings().Only(desired.RoleServer); err != nil {
		return "", err
	}
	if query := req.URL.Query(); query.Has("public_key") {
		return strings.ReplaceAll(query.Get("public_key"), " ", "+"), nil // which a plus that was not escaped reads as
	}
	var form struct {
		PublicKey string `json:"public_key"`
	}
	err := read(req, &form)
	return form.PublicKey, err
}

func (r *API) enableClient(enabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		key, err := r.requestedKey(req)
		if err != nil {
			return err
		}
		next, err := r.node.Change(req.Context(), desired.EnableClient(key, enabled))
		if err != nil {
			return err
		}
		changed, err := next.Client(key)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, r.node.View(next).Client(changed))
	}
}

func (r *API) deleteClient(w http.ResponseWriter, req *http.Request) error {
	key, err := r.requestedKey(req)
	if err != nil {
		return err
	}
	if _, err := r.node.Change(req.Context(), desired.DeleteClient(key)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *API) provisionAgain(w http.ResponseWriter, req *http.Request) error {
	key, err := r.requestedKey(req)
	if err != nil {
		return err
	}
	p, err := r.node.Settings().ProvisionAgain(key)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, p)
}

// attach takes the object that a server has answered with, and the server's URL. What
// it has besides is of later versions, and does not matter.
func (r *API) attach(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.Settings().Only(desired.RoleClient); err != nil {
		return err
	}
	data, err := httpapi.ReadBody(req, "", MaxBody)
	if err != nil {
		return err
	}
	var p desired.Provision
	if err := desired.Decode(data, &p, true); err != nil {
		return err
	}
	next, err := r.node.Change(req.Context(), desired.Attach(p))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, r.node.View(next).Attachment())
}

func (r *API) getAttachment(w http.ResponseWriter, _ *http.Request) error {
	s := r.node.Settings()
	if err := s.Only(desired.RoleClient); err != nil {
		return err
	}
	record := r.node.View(s).Attachment()
	if record == nil {
		return desired.NotAttached()
	}
	return WriteJSON(w, http.StatusOK, record)
}

func (r *API) detach(w http.ResponseWriter, req *http.Request) error {
	if _, err := r.node.Change(req.Context(), desired.Detach()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *API) status(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, r.node.View(r.node.Settings()).Status())
}
