package rest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

func (r *API) addInterface(w http.ResponseWriter, req *http.Request) error {
	var form desired.Link
	if err := read(req, &form); err != nil {
		return err
	}
	next, err := r.node.Change(req.Context(), desired.AddLink(form))
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/interfaces/"+url.PathEscape(form.Name))
	return r.showLink(w, http.StatusCreated, next, form.Name)
}

func (r *API) showLink(w http.ResponseWriter, status int, s *desired.Settings, name string) error {
	at, err := s.Link(name)
	if err != nil {
		return err
	}
	return WriteJSON(w, status, r.node.View(s).Links()[at])
}

func (r *API) listInterfaces(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, r.node.View(r.node.Settings()).Links())
}

func (r *API) getInterface(w http.ResponseWriter, req *http.Request) error {
	return r.showLink(w, http.StatusOK, r.node.Settings(), req.PathValue("name"))
}

func (r *API) orderInterfaces(w http.ResponseWriter, req *http.Request) error {
	var form struct {
		Order []string `json:"order"`
	}
	if err := read(req, &form); err != nil {
		return err
	}
	if form.Order == nil {
		return fault.Wrong("order", "is missing: the names of the links, the primary first")
	}
	next, err := r.node.Change(req.Context(), desired.OrderLinks(form.Order))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, r.node.View(next).Links())
}

// changeInterface changes the members that the request has, as RFC 7396 has it.
func (r *API) changeInterface(w http.ResponseWriter, req *http.Request) error {
	data, err := httpapi.ReadBody(req, "", MaxBody)
	if err != nil {
		return err
	}
	name := req.PathValue("name")
	next, err := r.node.Change(req.Context(), desired.ChangeLink(name, func(form *desired.Link) error {
		// The pointers are shared with what holds.
		priority := *form.Priority
		form.Priority = &priority
		if form.Listen != nil {
			listen := *form.Listen
			form.Listen = &listen
		}
		if err := desired.Decode(data, form, false); err != nil {
			return err
		}
		if form.Priority == nil {
			form.Priority = &priority
		}
		return nil
	}))
	if err != nil {
		return err
	}
	return r.showLink(w, http.StatusOK, next, name)
}

func (r *API) deleteInterface(w http.ResponseWriter, req *http.Request) error {
	if _, err := r.node.Change(req.Context(), desired.DeleteLink(req.PathValue("name"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *API) getBond(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, r.node.Settings().Head.Bond)
}

// setBond replaces how bonds behave, or changes what the request has.
func (r *API) setBond(merge bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		data, err := httpapi.ReadBody(req, "", MaxBody)
		if err != nil {
			return err
		}
		next, err := r.node.Change(req.Context(), desired.SetBond(func(form *desired.Bond) error {
			given := desired.Bond{}
			if merge {
				given = *form
				replay, wait := *form.Replay, *form.Wait
				given.Replay, given.Wait = &replay, &wait
			}
			if err := desired.Decode(data, &given, false); err != nil {
				return err
			}
			*form = given
			return nil
		}))
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, next.Head.Bond)
	}
}

func (r *API) switchTo(w http.ResponseWriter, req *http.Request) error {
	form := struct {
		Link string   `json:"link"`
		Hold *float64 `json:"hold_s"`
	}{}
	if err := read(req, &form); err != nil {
		return err
	}
	hold := time.Minute
	if form.Hold != nil {
		if !(*form.Hold >= 0 && *form.Hold <= desired.LongestHold.Seconds()) {
			return fault.Wrong("hold_s", "must be 0 to %.0f, got %v", desired.LongestHold.Seconds(), *form.Hold)
		}
		hold = time.Duration(*form.Hold * float64(time.Second))
	}
	if err := r.node.Switch(req.Context(), form.Link, hold); err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, map[string]any{"link": form.Link, "hold_s": hold.Seconds()})
}

func (r *API) getClasses(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, r.node.Settings().Head.Classes)
}

func (r *API) setClasses(w http.ResponseWriter, req *http.Request) error {
	var raw json.RawMessage
	if err := read(req, &raw); err != nil {
		return err
	}
	classes := []desired.Class{}
	if err := desired.Decode(raw, &classes, false); err != nil {
		return err
	}
	if classes == nil {
		classes = []desired.Class{}
	}
	next, err := r.node.Change(req.Context(), desired.SetClasses(classes))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, next.Head.Classes)
}
