package apimgmt

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// fileField is the form field with the definition.
const fileField = "upload_file"

// pathField is the parameter of the query, or the field of the form, with the listen
// path.
const pathField = "path"

// formSlack is how much of a form may be something else than the definition.
const formSlack = 64 << 10

// maxUploads is how many definitions may be received at once, and uploadTime how long
// one may take.
const (
	maxUploads = 32
	uploadTime = 2 * time.Minute
)

// publish answers POST: the definition of an enabler, new or not.
func (r *rest) publish(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	query, found := req.URL.Query(), faults{}
	for _, name := range []string{"enabler", "description"} {
		if !query.Has(name) {
			found = append(found, missing("query", name))
		}
	}
	u := Upload{Enabler: query.Get("enabler"), Description: query.Get("description"), By: nameOf(caller)}
	return r.upload(w, req, u, found)
}

// replace answers PUT: a definition for an enabler that is there.
func (r *rest) replace(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error {
	query := req.URL.Query()
	return r.upload(w, req, Upload{
		Enabler: req.PathValue("enabler"), Description: query.Get("description"), KeepDescription: !query.Has("description"),
		By: nameOf(caller), Condition: Condition{Exists: true},
	}, faults{})
}

// upload reads the rest of the request and publishes.
func (r *rest) upload(w http.ResponseWriter, req *http.Request, u Upload, found faults) error {
	query := req.URL.Query()
	u.State, u.Server, u.Path = State(query.Get("state")), query.Get("server"), query.Get(pathField)
	for _, fault := range u.check() {
		if fault.field == "enabler" && !query.Has("enabler") && u.Enabler == "" {
			continue // that it is missing is among the faults already
		}
		found = append(found, wrong("query", fault.field, fault.err))
	}
	dry := false
	if text := query.Get("dry_run"); text != "" {
		var err error
		if dry, err = strconv.ParseBool(text); err != nil {
			found = append(found, Fault{
				Loc: []string{"query", "dry_run"}, Msg: "value could not be parsed to a boolean", Type: "type_error.bool"})
		}
	}
	condition, err := conditionOf(req)
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
	var lacks faults
	switch {
	case errors.As(err, &lacks):
		found = append(found, lacks...)
	case err != nil:
		return err
	}
	if body.path != "" {
		switch err := checkPath(body.path); {
		case err != nil:
			found = append(found, wrong("body", pathField, err))
		case u.Path != "" && u.Path != body.path:
			found = append(found, wrong("body", pathField, errors.New("the path of the query is another one")))
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
	limit := int64(r.publisher.config.Definition.Bytes)
	fields, err := httpapi.NewForm(req.Header, http.MaxBytesReader(w, req.Body, 2*(limit+formSlack)))
	if err != nil {
		return form, faults{missing("body", fileField)}
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
		field, err := fields.NextDecoded(fileField, pathField)
		if err == io.EOF {
			break
		}
		var data []byte
		switch {
		case err != nil:
		case field.FormName() == fileField:
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
			return form, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form has more than one " + fileField + "."}
		}
		form.file, there = data, true
	}
	if !there {
		return form, faults{missing("body", fileField)}
	}
	return form, nil
}
