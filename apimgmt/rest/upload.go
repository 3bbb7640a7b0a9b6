package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// pathField is the parameter of the query, or the field of the form, with the listen
// path.
const pathField = "path"

// formSlack is the part of a form that may be something else than the definition.
const formSlack = 64 << 10

// maxUploads is the number of definitions that may be received at once, and uploadTime how long
// one may take.
const (
	maxUploads = 32
	uploadTime = 2 * time.Minute
)

// publish answers POST: the definition of an enabler, new or not.
func (r *rest) publish(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	query, found := req.URL.Query(), wire.Faults{}
	for _, name := range []string{"enabler", "description"} {
		if !query.Has(name) {
			found = append(found, missing("query", name))
		}
	}
	u := apimgmt.Upload{Enabler: query.Get("enabler"), Description: query.Get("description"), By: callerName(caller)}
	return r.upload(w, req, u, found)
}

// replace answers PUT: a definition for an enabler that is there.
func (r *rest) replace(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	query := req.URL.Query()
	return r.upload(w, req, apimgmt.Upload{
		Enabler: req.PathValue("enabler"), Description: query.Get("description"), KeepDescription: !query.Has("description"),
		By: callerName(caller), Condition: apimgmt.Condition{Exists: true},
	}, wire.Faults{})
}

// upload reads the rest of the request and publishes.
func (r *rest) upload(w http.ResponseWriter, req *http.Request, u apimgmt.Upload, found wire.Faults) error {
	query := req.URL.Query()
	u.State = apimgmt.State(query.Get("state"))
	u.Server = query.Get("server")
	u.Path = query.Get(pathField)
	for _, fault := range u.Check() {
		if fault.Field == "enabler" && !query.Has("enabler") && u.Enabler == "" {
			continue // that it is missing is among the faults already
		}
		found = append(found, wrong("query", fault.Field, fault.Text))
	}
	dry := false
	if text := query.Get("dry_run"); text != "" {
		var err error
		if dry, err = strconv.ParseBool(text); err != nil {
			found = append(found, wire.Fault{
				Loc: []string{"query", "dry_run"}, Msg: "value could not be parsed to a boolean", Type: "type_error.bool"})
		}
	}
	condition, err := readCondition(req)
	if err != nil {
		return err
	}
	condition.Exists = condition.Exists || u.Condition.Exists
	u.Condition = condition
	release, err := r.uploads.Take()
	if err != nil {
		w.Header().Set("Retry-After", "1")
		return err
	}
	defer release()
	body, err := r.form(w, req)
	var lacks wire.Faults
	switch {
	case errors.As(err, &lacks):
		found = append(found, lacks...)
	case err != nil:
		return err
	}
	if body.path != "" {
		switch err := definition.CheckPath(body.path); {
		case err != nil && body.path != apimgmt.NoPath:
			found = append(found, wrong("body", pathField, err.Error()))
		case u.Path != "" && u.Path != body.path:
			found = append(found, wrong("body", pathField, "the path of the query is another one"))
		}
	}
	if len(found) > 0 {
		return found
	}
	if body.path != "" {
		u.Path = body.path
	}
	u.Definition = body.file
	if dry {
		preview, err := r.publisher.Preview(req.Context(), u)
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, preview)
	}
	record, err := r.publisher.Publish(req.Context(), u)
	if err != nil {
		return err
	}
	return writeRecord(w, record)
}

// uploadForm has the fields of the form of an upload.
type uploadForm struct {
	file []byte
	path string
}

// form reads the form to its end, and the definition in it up to the limit. Nothing is
// stored on the way.
func (r *rest) form(w http.ResponseWriter, req *http.Request) (form uploadForm, err error) {
	limit := int64(r.publisher.MaxDefinition())
	fields, err := httpapi.NewForm(req.Header, http.MaxBytesReader(w, req.Body, 2*(limit+formSlack)))
	if err != nil {
		return form, wire.Faults{missing("body", wire.FileField)}
	}
	tooLarge := &httpapi.Error{Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("The definition is larger than the limit of %d bytes.", limit)}
	if req.ContentLength > 2*(limit+formSlack) {
		return form, tooLarge
	}
	// A writer without deadlines is one that has no slow clients.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime))
	there := false
	for {
		field, err := fields.NextDecoded(wire.FileField, pathField)
		if err == io.EOF {
			break
		}
		var data []byte
		switch {
		case err != nil:
		case field.FormName() == wire.FileField:
			data, err = httpapi.ReadField(field, limit)
		default:
			data, err = io.ReadAll(io.LimitReader(field, formSlack))
		}
		var body *http.MaxBytesError
		switch {
		case errors.As(err, &body), errors.Is(err, httpapi.ErrFieldSize):
			return form, tooLarge
		case err != nil:
			return form, &httpapi.Error{Status: http.StatusBadRequest,
				Detail: "The form in the body of the request is malformed or incomplete.", Err: err}
		case field.FormName() == pathField:
			form.path = string(data)
			continue
		case there:
			return form, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form has more than one " + wire.FileField + "."}
		}
		form.file, there = data, true
	}
	if !there {
		return form, wire.Faults{missing("body", wire.FileField)}
	}
	return form, nil
}
