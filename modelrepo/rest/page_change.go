package rest

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// maxForm is the largest form of a page in bytes; metadata is most of it.
const maxForm = 1 << 20

// readForm reads a form without a file.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	return nil
}

// metadataText writes metadata as people edit it: a line "key: value" for each value.
func metadataText(m modelrepo.Metadata) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		for _, value := range m[key] {
			fmt.Fprintf(&text, "%s: %s\n", key, strings.ReplaceAll(value, "\n", " "))
		}
	}
	return text.String()
}

// readMetadata reads what metadataText writes.
func readMetadata(text string) (modelrepo.Metadata, error) {
	made := modelrepo.Metadata{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, malformed(fmt.Sprintf("Metadata, line %d: %.100q has no colon: expected KEY: VALUE.", number, line))
		}
		key = strings.TrimSpace(key)
		made[key] = append(made[key], strings.TrimSpace(value))
	}
	return made, nil
}

// changed returns metadata that replaces what was there: keys that are gone are removed.
func changed(before, after modelrepo.Metadata) modelrepo.Metadata {
	change := maps.Clone(after)
	for key := range before {
		if _, stays := after[key]; !stays {
			change[key] = modelrepo.Values{modelrepo.Unset}
		}
	}
	return change
}

func (p *pages) createNamespace(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	name := strings.TrimSpace(r.PostForm.Get("name"))
	if err := p.store.CreateNamespace(r.Context(), name, modelrepo.NamespaceUpdate{}); err != nil {
		return err
	}
	return shell.SeeOther(w, "./"+hrefOf(modelrepo.Path{Namespace: name}), "The namespace "+name+" is made.")
}

func (p *pages) createModel(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at := pathOf(r)
	at.Model = strings.TrimSpace(r.PostForm.Get("name"))
	if err := p.store.CreateModel(r.Context(), at, modelrepo.ModelUpdate{}); err != nil {
		return err
	}
	return shell.SeeOther(w, "../"+hrefOf(at), "The model "+at.Model+" is made.")
}

func (p *pages) createVersion(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at := pathOf(r)
	at.Version = strings.TrimSpace(r.PostForm.Get("name"))
	if err := p.store.CreateVersion(r.Context(), at, modelrepo.VersionUpdate{}); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../"+hrefOf(at), "The version "+at.Version+" is made. It has no content yet.")
}

func (p *pages) changeNamespace(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at := pathOf(r)
	after, err := readMetadata(r.PostForm.Get("metadata"))
	if err != nil {
		return err
	}
	before, err := p.store.Namespace(r.Context(), at.Namespace, &modelrepo.Listing{PageSize: 1})
	if err != nil {
		return err
	}
	update := modelrepo.NamespaceUpdate{Metadata: changed(before.Metadata, after)}
	if _, err := p.store.UpdateNamespace(r.Context(), at.Namespace, update); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../"+hrefOf(at), "The metadata are changed.")
}

func (p *pages) changeModel(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at, form := pathOf(r), r.PostForm
	before, err := p.store.Model(r.Context(), at, &modelrepo.Listing{PageSize: 1})
	if err != nil {
		return err
	}
	after, err := readMetadata(form.Get("metadata"))
	if err != nil {
		return err
	}
	update := modelrepo.ModelUpdate{Metadata: changed(before.Metadata, after), LatestVersion: strings.TrimSpace(form.Get("latest"))}
	if update.LatestVersion == "" && before.LatestVersion != "" {
		update.LatestVersion = modelrepo.Unset
	}
	aliases, err := readMetadata(form.Get("aliases"))
	if err != nil {
		return err
	}
	update.Aliases = map[string]string{}
	for alias := range before.Aliases {
		update.Aliases[alias] = modelrepo.Unset
	}
	for alias, versions := range aliases {
		update.Aliases[alias] = versions[len(versions)-1]
	}
	if _, err := p.store.UpdateModel(r.Context(), at, update); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../"+hrefOf(at), "The model is changed.")
}

func (p *pages) changeVersion(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at, form := pathOf(r), r.PostForm
	before, err := p.store.Version(r.Context(), at)
	if err != nil {
		return err
	}
	after, err := readMetadata(form.Get("metadata"))
	if err != nil {
		return err
	}
	update := modelrepo.VersionUpdate{Metadata: changed(before.Metadata, after), DefaultFormat: strings.TrimSpace(form.Get("defaultFormat")),
		Immutable: form.Get("immutable") != ""}
	if update.DefaultFormat == "" && before.DefaultFormat != "" {
		update.DefaultFormat = modelrepo.Unset
	}
	if _, err := p.store.UpdateVersion(r.Context(), at, update); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../../"+hrefOf(at), "The version is changed.")
}

func (p *pages) deleteNamespace(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	if err := p.store.DeleteNamespace(r.Context(), at.Namespace); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../", "The namespace "+at.Namespace+" is deleted.")
}

func (p *pages) deleteModel(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	if err := p.store.DeleteModel(r.Context(), at); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../"+hrefOf(modelrepo.Path{Namespace: at.Namespace}), "The model "+at.Model+" is deleted.")
}

func (p *pages) deleteVersion(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	if err := p.store.DeleteVersion(r.Context(), at); err != nil {
		return err
	}
	to := hrefOf(modelrepo.Path{Namespace: at.Namespace, Model: at.Model})
	return shell.SeeOther(w, "../../../../"+to, "The version "+at.Version+" is deleted.")
}

func (p *pages) deleteContent(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	at, format := pathOf(r), r.PostForm.Get("format")
	if err := p.store.DeleteContent(r.Context(), at, format, modelrepo.Condition{}); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../../"+hrefOf(at), "The content in "+format+" is deleted.")
}

// upload takes a file of a form, for browsers without scripts. The file is read as it comes,
// so the fields before it decide where it goes.
func (p *pages) upload(w http.ResponseWriter, r *http.Request) error {
	fields, err := httpapi.NewForm(r.Header, httpapi.PatientBody(w, r.Body, patience))
	if err != nil {
		return invalid(http.StatusUnsupportedMediaType, wrongType)
	}
	at, format, overwrite := pathOf(r), "", false
	for {
		part, err := fields.Next("format", "overwrite", "content")
		if err != nil {
			return malformed("The form has no file, or is incomplete.")
		}
		switch part.FormName() {
		case "format":
			text, err := httpapi.ReadField(part, 200)
			if err != nil {
				return malformed("The format is longer than 100 characters, or incomplete.")
			}
			format = strings.TrimSpace(string(text))
		case "overwrite":
			overwrite = true
		case "content":
			return p.storeFile(w, r, at, format, overwrite, &form{fields: fields, part: part})
		}
	}
}

// storeFile stores the file of a form.
func (p *pages) storeFile(w http.ResponseWriter, r *http.Request, at modelrepo.Path, format string, overwrite bool, file *form) error {
	name, kind := file.part.FileName(), file.part.Header.Get("Content-Type")
	if name == "" {
		return malformed("No file was chosen.")
	}
	if format == "" {
		format, _, _ = mime.ParseMediaType(kind)
	}
	if _, err := p.store.Upload(r.Context(), at, format, file, &modelrepo.UploadOptions{ContentType: kind, Overwrite: overwrite}); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../../"+hrefOf(at), "The file "+name+" is stored as "+format+".")
}
