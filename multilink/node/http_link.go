package node

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func (r *rest) addInterface(w http.ResponseWriter, req *http.Request) error {
	var form linkForm
	if err := read(req, &form); err != nil {
		return err
	}
	next, err := r.node.addLink(req.Context(), form)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/interfaces/"+url.PathEscape(form.Name))
	return r.showLink(w, http.StatusCreated, next, form.Name)
}

func (r *rest) showLink(w http.ResponseWriter, status int, s *desired, name string) error {
	records := records{r.node}.linkRecords(s)
	at := slices.IndexFunc(records, func(l linkRecord) bool { return l.Name == name })
	if at < 0 {
		return absent("name", "no link %q is managed", name)
	}
	return writeJSON(w, status, records[at])
}

func (r *rest) listInterfaces(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, records{r.node}.linkRecords(r.node.now.Load()))
}

func (r *rest) getInterface(w http.ResponseWriter, req *http.Request) error {
	return r.showLink(w, http.StatusOK, r.node.now.Load(), req.PathValue("name"))
}

func (r *rest) orderInterfaces(w http.ResponseWriter, req *http.Request) error {
	var form struct {
		Order []string `json:"order"`
	}
	if err := read(req, &form); err != nil {
		return err
	}
	if form.Order == nil {
		return wrong("order", "is missing: the names of the links, the primary first")
	}
	next, err := r.node.orderLinks(req.Context(), form.Order)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, records{r.node}.linkRecords(next))
}

// changeInterface changes the members that the request has, as RFC 7396 has it.
func (r *rest) changeInterface(w http.ResponseWriter, req *http.Request) error {
	data, err := httpapi.ReadBody(req, "", maxBody)
	if err != nil {
		return err
	}
	name := req.PathValue("name")
	next, err := r.node.changeLink(req.Context(), name, func(form *linkForm) error {
		// The pointers are shared with what holds.
		priority := *form.Priority
		form.Priority = &priority
		if form.Listen != nil {
			listen := *form.Listen
			form.Listen = &listen
		}
		if err := decode(data, form, false); err != nil {
			return err
		}
		if form.Priority == nil {
			form.Priority = &priority
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.showLink(w, http.StatusOK, next, name)
}

func (r *rest) deleteInterface(w http.ResponseWriter, req *http.Request) error {
	if err := r.node.deleteLink(req.Context(), req.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *rest) getBond(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, r.node.now.Load().head.Bond)
}

// setBond replaces how bonds behave, or changes what the request has.
func (r *rest) setBond(merge bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		data, err := httpapi.ReadBody(req, "", maxBody)
		if err != nil {
			return err
		}
		next, err := r.node.setBond(req.Context(), func(form *bondForm) error {
			given := bondForm{}
			if merge {
				given = *form
				replay, wait := *form.Replay, *form.Wait
				given.Replay, given.Wait = &replay, &wait
			}
			if err := decode(data, &given, false); err != nil {
				return err
			}
			*form = given
			return nil
		})
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, next.head.Bond)
	}
}

func (r *rest) switchTo(w http.ResponseWriter, req *http.Request) error {
	form := struct {
		Link string   `json:"link"`
		Hold *float64 `json:"hold_s"`
	}{}
	if err := read(req, &form); err != nil {
		return err
	}
	hold := time.Minute
	if form.Hold != nil {
		if !(*form.Hold >= 0 && *form.Hold <= longestHold.Seconds()) {
			return wrong("hold_s", "want 0 to %.0f, got %v", longestHold.Seconds(), *form.Hold)
		}
		hold = time.Duration(*form.Hold * float64(time.Second))
	}
	if err := r.node.switchTo(req.Context(), form.Link, hold); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"link": form.Link, "hold_s": hold.Seconds()})
}

func (r *rest) getClasses(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, r.node.now.Load().head.Classes)
}

func (r *rest) setClasses(w http.ResponseWriter, req *http.Request) error {
	var raw json.RawMessage
	if err := read(req, &raw); err != nil {
		return err
	}
	classes := []classForm{}
	if err := decode(raw, &classes, false); err != nil {
		return err
	}
	if classes == nil {
		classes = []classForm{}
	}
	next, err := r.node.setClasses(req.Context(), classes)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, next.head.Classes)
}
