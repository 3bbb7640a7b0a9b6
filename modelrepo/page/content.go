package page

import (
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// knownFormat is a format tag that a page proposes for files with the extension.
type knownFormat struct{ Format, Extension string }

// knownFormats are those that browsers do not know or name differently, and common ones.
func knownFormats() []knownFormat {
	return []knownFormat{
		{"text/turtle", ".ttl"}, {"application/rdf+xml", ".rdf"}, {"application/rdf+xml", ".owl"},
		{"application/ld+json", ".jsonld"}, {"application/n-triples", ".nt"}, {"application/n-quads", ".nq"},
		{"application/trig", ".trig"}, {"application/x-onnx", ".onnx"},
		{"application/json", ".json"}, {"application/xml", ".xml"}, {"application/zip", ".zip"}, {"text/csv", ".csv"},
		{"text/markdown", ".md"}, {"text/plain", ".txt"},
	}
}

// guessFormat returns the format for a file: what was typed, or what its name or its media type
// says.
func guessFormat(typed, name, contentType string) string {
	if typed != "" {
		return typed
	}
	for _, known := range knownFormats() {
		if strings.EqualFold(path.Ext(name), known.Extension) {
			return known.Format
		}
	}
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return kind
	}
	return "application/octet-stream"
}

// fileName returns the name that content has as a file.
func fileName(at modelrepo.Path, format string) string {
	name := at.Model + "-" + at.Version
	for _, known := range knownFormats() {
		if format == known.Format {
			return name + known.Extension
		}
	}
	return name
}

// upload takes a file of a form, for browsers without scripts. The file is read as it comes,
// so the fields before it decide where it goes.
func (p *pages) upload(w http.ResponseWriter, r *http.Request) error {
	fields, err := httpapi.NewForm(r.Header, httpapi.PatientBody(w, r.Body, web.Patience))
	if err != nil {
		return web.Invalid(http.StatusUnsupportedMediaType, web.WrongType)
	}
	format, overwrite := "", false
	for {
		part, err := fields.Next("format", "overwrite", "content")
		if err != nil {
			return web.Malformed("The form has no file, or is incomplete.")
		}
		switch part.FormName() {
		case "format":
			text, err := httpapi.ReadField(part, 200)
			if err != nil {
				return web.Malformed("The format is longer than 100 characters, or incomplete.")
			}
			format = strings.TrimSpace(string(text))
		case "overwrite":
			overwrite = true
		case "content":
			return p.storeFile(w, r, format, overwrite, &web.Content{Form: fields, Part: part})
		}
	}
}

// storeFile stores the file of a form.
func (p *pages) storeFile(w http.ResponseWriter, r *http.Request, format string, overwrite bool, file *web.Content) error {
	at, name, kind := web.RequestPath(r), file.Part.FileName(), file.Part.Header.Get("Content-Type")
	if name == "" {
		return web.Malformed("No file was chosen.")
	}
	format = guessFormat(format, name, kind)
	with := &modelrepo.UploadOptions{ContentType: kind, Overwrite: overwrite}
	stored, err := p.store.Upload(r.Context(), at, format, file, with)
	if err != nil {
		return err
	}
	done := "The file " + name + " is stored as " + format + ". SHA-256: " + stored.SHA256
	return shell.SeeOther(w, "../../../../"+pageAddress(at), done)
}

func (p *pages) deleteContent(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	at, format := web.RequestPath(r), r.PostForm.Get("format")
	if err := p.store.DeleteContent(r.Context(), at, format, modelrepo.Condition{}); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../../../"+pageAddress(at), "The content in "+format+" is deleted.")
}

// document renders the Markdown files of a form into the documentation of a version, in place
// of what there was.
func (p *pages) document(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	files, err := web.ReadSources(w, r, at)
	if err != nil {
		return err
	}
	if _, err := p.store.GenerateDocumentation(r.Context(), at, modelrepo.GFM, files, true); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../../"+pageAddress(at), "The documentation is rendered.")
}

func (p *pages) deleteDocumentation(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	if err := p.store.DeleteDocumentation(r.Context(), at); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../../../"+pageAddress(at), "The documentation is deleted.")
}
