package portal

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// outcome is the form for definitions, and the result of sending it.
type outcome struct {
	Base                       string // leads to the root of the portal
	Enabler, Description, Path string
	Suggested                  string // what Path is, if it was not given
	// The errors of the fields; the last is about none of them.
	EnablerFault, DescriptionFault, PathFault, FileFault, Fault string

	Conflicts []apimgmt.Conflict
	Preview   *apimgmt.Preview
	Published *apimgmt.Record
}

// uploadForm is a form that a user has sent.
type uploadForm struct {
	action, enabler, description, path string
	file                               []byte
	there                              bool // a file was chosen
}

// upload publishes a definition, keeps it as a draft, or previews what publishing it
// would do.
func (p *Portal) upload(w http.ResponseWriter, r *http.Request, v *visitor) error {
	form, err := p.readUpload(w, r)
	if err != nil {
		return err
	}
	result := outcome{Base: shell.Root(r), Enabler: form.enabler, Description: form.description, Path: form.path}
	status := http.StatusOK
	if form.enabler == "" {
		result.EnablerFault, status = "Say which enabler the API is of.", http.StatusUnprocessableEntity
	}
	if !form.there {
		result.FileFault, status = "Choose the file with the definition.", http.StatusUnprocessableEntity
	}
	if status == http.StatusOK {
		if err := p.publish(r, v, form, &result); err != nil {
			known := classify(err)
			if known == nil || known.Status >= 500 {
				return err
			}
			status = known.Status
			result.setError(err)
		}
	}
	if r.Header.Get(partHeader) != "" {
		view := struct {
			head
			outcome
		}{p.head(r, "Publish an API", v), result}
		return p.show(w, r, status, "outcome.html", &view)
	}
	view := homeView{head: p.head(r, "API portal", v), Outcome: result}
	if view.Library, err = p.library(r); err != nil {
		return err
	}
	return p.show(w, r, status, "home.html", &view)
}

func (p *Portal) publish(r *http.Request, v *visitor, form uploadForm, result *outcome) error {
	upload := apimgmt.Upload{Enabler: form.enabler, Description: form.description, KeepDescription: true, Path: form.path,
		Definition: form.file, By: v.User}
	switch form.action {
	case "preview":
		preview, err := p.config.Publisher.Preview(r.Context(), upload)
		if err == nil {
			result.Preview, result.Conflicts = &preview, preview.Conflicts
			result.suggest(preview.SuggestedPath)
		}
		return err
	case "draft":
		upload.State = apimgmt.Draft
	}
	record, err := p.config.Publisher.Publish(r.Context(), upload)
	if err == nil {
		result.Published = &record
	}
	return err
}

// suggest puts a path into the field for it, unless there is one.
func (o *outcome) suggest(path string) {
	if path == "" {
		return
	}
	o.PathFault = "It could be " + path + "."
	if o.Path == "" {
		o.Path, o.Suggested = path, path
		o.PathFault = path + " is a suggestion. Publish again to use it."
	}
}

// setError puts an error at the field that it is about.
func (o *outcome) setError(err error) {
	var refusal *apimgmt.Error
	if !errors.As(err, &refusal) {
		o.Fault = "This did not work."
		return
	}
	o.Conflicts = refusal.Conflicts
	text := refusal.Text
	for _, kind := range []error{definition.ErrInvalid, definition.ErrVersion, definition.ErrLimit} {
		text = strings.TrimPrefix(text, kind.Error()+": ")
	}
	text = sentence(text)
	switch {
	case len(o.Conflicts) > 0:
		o.Fault = "Nothing has changed: others serve the same routes. Give the API a path of its own below which it is served."
		o.suggest(refusal.SuggestedPath)
	case refusal.Field == "enabler":
		o.EnablerFault = text
	case refusal.Field == "description":
		o.DescriptionFault = text
	case refusal.Field == "path":
		o.PathFault = text
	case refusal.Kind == apimgmt.ErrInvalid:
		o.FileFault = text
	default:
		o.Fault = text
	}
}

// readUpload reads the form with a definition as a stream.
func (p *Portal) readUpload(w http.ResponseWriter, r *http.Request) (form uploadForm, err error) {
	parts, err := httpapi.NewForm(r.Header, http.MaxBytesReader(w, r.Body, 2*(p.config.MaxFile+maxForm)))
	if err != nil {
		return form, &httpapi.Error{Status: http.StatusUnsupportedMediaType, Detail: "The form has to be multipart/form-data."}
	}
	fields := map[string]*string{
		"action": &form.action, "enabler": &form.enabler, "description": &form.description, "path": &form.path,
	}
	for {
		part, err := parts.NextDecoded()
		if err == io.EOF {
			break
		}
		var data []byte
		if err == nil {
			limit := int64(maxForm)
			if part.FormName() == "upload_file" {
				limit = p.config.MaxFile
			}
			data, err = httpapi.ReadField(part, limit)
		}
		var body *http.MaxBytesError
		switch {
		case errors.As(err, &body), errors.Is(err, httpapi.ErrFieldSize):
			return form, &httpapi.Error{Status: http.StatusRequestEntityTooLarge,
				Detail: fmt.Sprintf("The definition is larger than the limit of %d bytes.", p.config.MaxFile)}
		case err != nil:
			return form, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form is malformed or incomplete.", Err: err}
		}
		if part.FormName() == "upload_file" {
			form.file, form.there = data, form.there || part.FileName() != "" || len(data) > 0
		} else if field, ok := fields[part.FormName()]; ok {
			*field = strings.TrimSpace(string(data))
		}
	}
	form.description = strings.ReplaceAll(form.description, "\r\n", "\n")
	return form, nil
}

// sentence turns the text of an error into a sentence.
func sentence(text string) string {
	if text == "" {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
