package apimgmt

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
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

// maxUploads is how many definitions may be on their way at once, and uploadTime how
// long one may take.
const (
	maxUploads = 32
	uploadTime = 2 * time.Minute
)

// publish answers POST: the definition of an enabler, new or not.
func (r *rest) publish(w http.ResponseWriter, req *http.Request, who *oidc.Claims) error {
	query, found := req.URL.Query(), faults{}
	for _, name := range []string{"enabler", "description"} {
		if !query.Has(name) {
			found = append(found, missing("query", name))
		}
	}
	return r.upload(w, req, Upload{Enabler: query.Get("enabler"), Description: query.Get("description"), By: nameOf(who)}, found)
}

// replace answers PUT: a definition for an enabler that is there.
func (r *rest) replace(w http.ResponseWriter, req *http.Request, who *oidc.Claims) error {
	query := req.URL.Query()
	return r.upload(w, req, Upload{Enabler: req.PathValue("enabler"), Description: query.Get("description"), KeepDescription: !query.Has("description"),
		By: nameOf(who), Condition: Condition{Exists: true}}, faults{})
}

// upload reads the rest of the request and publishes.
func (r *rest) upload(w http.ResponseWriter, req *http.Request, u Upload, found faults) error {
	query := req.URL.Query()
	if query.Has("enabler") || u.Enabler != "" {
		if err := checkName(u.Enabler); err != nil {
			found = append(found, wrong("query", "enabler", err))
		}
	}
	if err := checkDescription(u.Description); err != nil {
		found = append(found, wrong("query", "description", err))
	}
	if text := query.Get("state"); text != "" {
		var err error
		if u.State, err = ParseState(text); err == nil && u.State != Published && u.State != Draft {
			err = errors.New("a definition is published, or stored as a draft")
		}
		if err != nil {
			found = append(found, wrong("query", "state", err))
		}
	}
	u.Server = query.Get("server")
	if u.Server != "" && !validLink(u.Server) {
		found = append(found, wrong("query", "server", errors.New("expected http://HOST or https://HOST")))
	}
	u.Path = query.Get(pathField)
	if err := checkPath(u.Path); err != nil {
		found = append(found, wrong("query", pathField, err))
	}
	dry := false
	if text := query.Get("dry_run"); text != "" {
		var err error
		if dry, err = strconv.ParseBool(text); err != nil {
			found = append(found, Fault{Loc: []string{"query", "dry_run"}, Msg: "value could not be parsed to a boolean", Type: "type_error.bool"})
		}
	}
	condition, err := conditionOf(req)
	if err != nil {
		return err
	}
	condition.Exists = condition.Exists || u.Condition.Exists
	u.Condition = condition
	select {
	case r.uploads <- struct{}{}:
		defer func() { <-r.uploads }()
	default:
		w.Header().Set("Retry-After", "1")
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "Too many definitions are being uploaded. Please try again."}
	}
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

// uploadForm is what the form of an upload says.
type uploadForm struct {
	file []byte
	path string
}

// form reads the definition out of the form, as it comes and up to the limit, and the
// form to its end. Nothing is stored on the way.
func (r *rest) form(w http.ResponseWriter, req *http.Request) (made uploadForm, err error) {
	mediaType, parameters, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" {
		return made, faults{missing("body", fileField)}
	}
	limit := int64(r.publisher.config.Definition.Bytes)
	tooLarge := &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The definition is larger than the limit of %d bytes.", limit)}
	if req.ContentLength > 2*(limit+formSlack) {
		return made, tooLarge
	}
	parts := multipart.NewReader(http.MaxBytesReader(w, req.Body, 2*(limit+formSlack)), parameters["boundary"])
	// A writer without deadlines is one that has no slow clients.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime))
	there := false
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		var data []byte
		switch {
		case err != nil:
		case part.FormName() == fileField:
			data, err = io.ReadAll(io.LimitReader(part, limit+1))
		case part.FormName() == pathField:
			data, err = io.ReadAll(io.LimitReader(part, formSlack))
		default:
			_, err = io.Copy(io.Discard, part)
		}
		var body *http.MaxBytesError
		switch {
		case errors.As(err, &body):
			return made, tooLarge
		case err != nil:
			return made, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form in the body of the request is malformed or incomplete.", Err: err}
		case part.FormName() == pathField:
			made.path = string(data)
			continue
		case part.FormName() != fileField:
			continue
		case int64(len(data)) > limit:
			_, _ = io.Copy(io.Discard, part) // many clients look at an answer only when they have sent everything
			return made, tooLarge
		case there:
			return made, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form has more than one " + fileField + "."}
		}
		made.file, there = data, true
	}
	if !there {
		return made, faults{missing("body", fileField)}
	}
	return made, nil
}
