package page

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// maxForm is the largest form of a page in bytes: metadata, twice and escaped, are most of it.
const maxForm = 6 * modelrepo.MaxMetadataSize

// nodeForm is the page on which a namespace, a model or a version is created or changed.
type nodeForm struct {
	shell.Frame
	// At is what is changed, or what something is created in.
	At    modelrepo.Path
	IsNew bool
	// Kind is what is created or changed: a namespace, a model or a version.
	Kind string
	form.Fields
	// before has the fields as they were when the form was shown, with "before." in front of their
	// names: what another person has changed since stays.
	before url.Values
	// Fault says what is wrong, and at names the field.
	Fault, at string
	// Made is what was created or changed, and Done the sentence about it.
	Made modelrepo.Path
	Done string
}

// Before returns a field as it was when the form was shown.
func (f *nodeForm) Before(name string) string { return f.before.Get("before." + name) }

// fill sets a field to what it is now.
func (f *nodeForm) fill(name, value string) {
	f.Find(name).Value = value
	f.before.Set("before."+name, value)
}

// form returns the routes of a form. Read fills it in; without read it begins empty. Send does
// what it asks for.
func (p *pages) form(path string, read, send func(*http.Request, *nodeForm) error) []httpapi.Route {
	show := func(w http.ResponseWriter, r *http.Request) error {
		f := p.newForm(r, read == nil)
		if read != nil {
			if err := read(r, f); err != nil {
				return err
			}
		}
		return p.part.Show(w, r, http.StatusOK, "form.html", f)
	}
	take := func(w http.ResponseWriter, r *http.Request) error {
		if err := httpapi.ReadForm(w, r, maxForm); err != nil {
			return err
		}
		f := p.newForm(r, read == nil)
		f.Fill(r.PostForm)
		f.before = r.PostForm
		err := send(r, f)
		if err == nil {
			return shell.SeeOther(w, f.Root+pageAddress(f.Made), f.Done)
		}
		fault := refusalOf(err)
		if fault == nil {
			return err
		}
		f.Fault = fault.Text()
		switch isField := errors.Is(err, modelrepo.ErrInvalid) || errors.Is(err, modelrepo.ErrExists); {
		case f.at != "" || !isField:
		case strings.Contains(f.Fault, "etadata"):
			f.at = "metadata"
		case f.IsNew:
			f.at = "name"
		}
		if field := f.Find(f.at); field != nil {
			field.Fault = f.Fault
		}
		return p.part.Show(w, r, fault.Status, "form.html", f)
	}
	return []httpapi.Route{
		{Pattern: "GET " + path, Func: show, Role: httpapi.Operator},
		{Pattern: "POST " + path, Func: take},
	}
}

// refusalOf returns what a form has to say about an error; nil for an error that another form
// does not mend.
func refusalOf(err error) *httpapi.Error {
	known := web.Classify(err)
	if own := new(httpapi.Error); errors.As(err, &own) {
		known = own
	}
	if known == nil || known.Status == http.StatusNotFound || known.Status >= 500 && !errors.Is(err, modelrepo.ErrQuota) {
		return nil
	}
	return known
}

func (p *pages) newForm(r *http.Request, isNew bool) *nodeForm {
	at := web.RequestPath(r)
	f := &nodeForm{At: at, IsNew: isNew, before: url.Values{}, Made: at}
	depth := 0
	for _, name := range []string{at.Namespace, at.Model, at.Version} {
		if name != "" {
			depth++
		}
	}
	if isNew {
		f.Kind = [...]string{"namespace", "model", "version"}[depth]
		f.Frame, f.Fields = p.part.Frame(r, "New "+f.Kind, trailTo(at)...), newFields(f.Kind)
		return f
	}
	f.Kind = [...]string{"", "namespace", "model", "version"}[depth]
	f.Frame, f.Fields = p.part.Frame(r, "Change "+at.String(), trailTo(at)...), changeFields(f.Kind)
	return f
}

// newFields returns the fields of a new namespace, model or version.
func newFields(kind string) form.Fields {
	name := form.Field{Name: "name", Label: "Name", Required: true, MaxLength: 100}
	switch kind {
	case "namespace":
		name.MinLength, name.Pattern, name.Hint = 3, `[A-Za-z0-9_\-]+`, "3 to 100 letters, digits, hyphens and underscores."
	case "model":
		name.Pattern, name.Hint = `[A-Za-z0-9][A-Za-z0-9_\-]*`, "Letters, digits, hyphens and underscores; a letter or digit first."
	case "version":
		name.Label, name.Placeholder, name.Pattern = "Tag", "1.0", `[A-Za-z0-9][A-Za-z0-9_.+\-]*`
		name.Hint = "Letters, digits and _ . + -; a letter or digit first."
	}
	return form.Fields{name, metadataField()}
}

// changeFields returns the fields of the change of one.
func changeFields(kind string) form.Fields {
	switch kind {
	case "model":
		return form.Fields{
			{Name: "latest", Label: "Latest version", MaxLength: 100, Hint: `What the tag "latest" stands for. Empty: nothing.`},
			{Name: "aliases", Label: "Aliases", Kind: form.Area, Rows: 3, Hint: "A line for each, ALIAS: VERSION."}, metadataField(),
		}
	case "version":
		return form.Fields{
			{Name: "defaultFormat", Label: "Default format", MaxLength: 100, Hint: "That of a download that names none."}, metadataField(),
			{Name: "immutable", Kind: form.Check,
				Label: "Make it immutable: from then on neither the version nor its content can change"},
		}
	}
	return form.Fields{metadataField()}
}

func metadataField() form.Field {
	return form.Field{Name: "metadata", Label: "Metadata", Kind: form.Area, Rows: 6,
		Hint: `A line for each value, KEY: VALUE. A key may have several. \n is a line break in a value, and \\ a backslash.`}
}

// metadata returns the change of the metadata that the form asks for. Keys whose lines are
// as they were are left alone, and keys whose lines are gone are removed.
func (f *nodeForm) metadata() (modelrepo.Metadata, error) {
	before, err := readMetadata(f.Before("metadata"))
	if err != nil {
		return nil, err
	}
	after, err := readMetadata(f.Get("metadata"))
	if err != nil {
		f.at = "metadata"
		return nil, err
	}
	change := modelrepo.Metadata{}
	for key, values := range after {
		if !slices.Equal(values, before[key]) {
			change[key] = values
		}
	}
	for key := range before {
		if after[key] == nil {
			change[key] = modelrepo.Values{modelrepo.Unset}
		}
	}
	return change, nil
}

// aliases is metadata for the aliases of a model.
func (f *nodeForm) aliases() (map[string]string, error) {
	before, err := readMetadata(f.Before("aliases"))
	if err != nil {
		return nil, err
	}
	after, err := readMetadata(f.Get("aliases"))
	if err != nil {
		f.at = "aliases"
		return nil, err
	}
	change := map[string]string{}
	for alias, versions := range after {
		if len(versions) > 1 {
			f.at = "aliases"
			return nil, web.Malformed(fmt.Sprintf("The alias '%.120s' has two lines: it can stand for one version only.", alias))
		}
		if !slices.Equal(versions, before[alias]) {
			change[alias] = versions[0]
		}
	}
	for alias := range before {
		if after[alias] == nil {
			change[alias] = modelrepo.Unset
		}
	}
	return change, nil
}

// tag returns the change of a field that is a tag or nothing.
func (f *nodeForm) tag(name string) string {
	after := f.Get(name)
	if after == strings.TrimSpace(f.Before(name)) {
		return ""
	}
	return cmp.Or(after, modelrepo.Unset)
}

// changed sets what a change has to say.
func (f *nodeForm) changed(different bool) {
	f.Done = "Nothing was different."
	if different {
		f.Done = "The " + f.Kind + " is changed."
	}
}
