package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxPage is the greatest number of records of a page of the library.
const maxPage = 500

// maxPatch is the greatest length of the body of a PATCH, in bytes.
const maxPatch = 64 << 10

// maxFault is the part of the error of a body that is shown, in bytes.
const maxFault = 80

// list answers with a page of the library. A Link header field leads to the next
// one (RFC 8288).
func (r *rest) list(w http.ResponseWriter, req *http.Request, _ *oidc.Claims) error {
	values := req.URL.Query()
	q := apimgmt.Query{Text: values.Get("q"), After: values.Get("after")}
	var found wire.Faults
	var err error
	if text := values.Get("state"); text != "" {
		if q.State, err = apimgmt.ParseState(text); err != nil {
			found = append(found, wrong("query", "state", err.Error()))
		}
	}
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxPage {
			found = append(found, wrong("query", "limit", "a number from 1 to "+strconv.Itoa(maxPage)+" is needed"))
		}
	}
	if len(found) > 0 {
		return found
	}
	page, more, err := r.publisher.List(req.Context(), q)
	if err != nil {
		return err
	}
	if more {
		values.Set("after", page[len(page)-1].Enabler)
		w.Header().Set("Link", "<?"+values.Encode()+`>; rel="next"`)
	}
	return httpapi.WriteJSON(w, page)
}

func (r *rest) get(w http.ResponseWriter, req *http.Request, _ *oidc.Claims) error {
	record, err := r.publisher.Get(req.Context(), req.PathValue("enabler"))
	if err != nil {
		return err
	}
	return writeRecord(w, record)
}

// writeRecord answers with a record and its ETag.
func writeRecord(w http.ResponseWriter, record apimgmt.Record) error {
	w.Header().Set("ETag", httpapi.EntityTag{Value: record.Revision}.String())
	return httpapi.WriteJSON(w, record)
}

func (r *rest) describe(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	condition, err := readCondition(req)
	if err != nil {
		return err
	}
	var body struct {
		Description *string `json:"description"`
	}
	if err := decodeBody(req, &body); err != nil {
		return err
	}
	if body.Description == nil {
		return wire.Faults{missing("body", "description")}
	}
	record, err := r.publisher.Describe(req.Context(), req.PathValue("enabler"), *body.Description, callerName(caller), condition)
	var refusal *apimgmt.Error
	switch {
	case errors.As(err, &refusal) && refusal.Field == "description":
		return wire.Faults{wrong("body", "description", refusal.Text)}
	case err != nil:
		return err
	}
	return writeRecord(w, record)
}

func (r *rest) remove(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	condition, err := readCondition(req)
	if err != nil {
		return err
	}
	if err := r.publisher.Delete(req.Context(), req.PathValue("enabler"), callerName(caller), condition); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// definition answers with a file as it was uploaded, without secrets.
func (r *rest) definition(w http.ResponseWriter, req *http.Request, _ *oidc.Claims) error {
	file, err := r.publisher.Definition(req.Context(), req.PathValue("enabler"), req.PathValue("version"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if file.Version.Format == "yaml" {
		h.Set("Content-Type", "application/yaml")
	}
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", httpapi.EntityTag{Value: file.Info().SHA256}.String())
	h.Set("X-API-Version", url.QueryEscape(file.Version.Version))
	http.ServeContent(w, req, "", time.Time{}, file)
	return nil
}

func (r *rest) versions(w http.ResponseWriter, req *http.Request, _ *oidc.Claims) error {
	record, err := r.publisher.Get(req.Context(), req.PathValue("enabler"))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", httpapi.EntityTag{Value: record.Revision}.String())
	return httpapi.WriteJSON(w, record.Versions)
}

func (r *rest) version(w http.ResponseWriter, req *http.Request, _ *oidc.Claims) error {
	version, err := r.publisher.GetVersion(req.Context(), req.PathValue("enabler"), req.PathValue("version"))
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, version)
}

func (r *rest) setState(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	condition, err := readCondition(req)
	if err != nil {
		return err
	}
	var body struct {
		State  *string    `json:"state"`
		Sunset *time.Time `json:"sunset"`
		Link   string     `json:"link"`
	}
	if err := decodeBody(req, &body); err != nil {
		return err
	}
	if body.State == nil {
		return wire.Faults{missing("body", "state")}
	}
	t := apimgmt.Transition{Link: body.Link, By: callerName(caller), Condition: condition}
	if t.State, err = apimgmt.ParseState(*body.State); err != nil {
		return wire.Faults{wrong("body", "state", err.Error())}
	}
	if body.Sunset != nil {
		t.Sunset = *body.Sunset
	}
	record, err := r.publisher.SetState(req.Context(), req.PathValue("enabler"), req.PathValue("version"), t)
	if err != nil {
		return err
	}
	return writeRecord(w, record)
}

func (r *rest) removeVersion(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	condition, err := readCondition(req)
	if err != nil {
		return err
	}
	if err := r.publisher.DeleteVersion(req.Context(), req.PathValue("enabler"), req.PathValue("version"),
		callerName(caller), condition); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// decodeBody reads a small JSON object without unknown members.
func decodeBody(req *http.Request, into any) error {
	data, err := httpapi.ReadBody(req, "application/json", maxPatch)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(into); err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = errors.New("there is more than one value")
		}
	}
	if err != nil {
		text := err.Error()
		if len(text) > maxFault {
			text = text[:maxFault] + "…"
		}
		return wire.Faults{{Loc: []string{"body"}, Msg: text, Type: "value_error.jsondecode"}}
	}
	return nil
}

// readCondition reads If-Match and If-None-Match (RFC 9110 sections 13.1.1 and 13.1.2).
func readCondition(req *http.Request) (apimgmt.Condition, error) {
	match, err := httpapi.ReadEntityTags(req.Header, "If-Match")
	c := apimgmt.Condition{Exists: match.Any}
	for _, tag := range match.List {
		if tag.Weak {
			err = errors.New("a weak entity tag matches no revision")
		}
		c.Revisions = append(c.Revisions, tag.Value)
	}
	if err != nil {
		return c, &httpapi.Error{Status: http.StatusBadRequest, Detail: "If-Match is not a list of strong entity tags.", Err: err}
	}
	none, err := httpapi.ReadEntityTags(req.Header, "If-None-Match")
	if err != nil || len(none.List) > 0 {
		return c, &httpapi.Error{Status: http.StatusBadRequest, Detail: "If-None-Match of a change can only be *.", Err: err}
	}
	c.Absent = none.Any
	return c, nil
}
