package page

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// maxForm is the largest form of a page in bytes: metadata, twice and escaped, are most of it.
const maxForm = 6 * modelrepo.MaxMetadataSize

// nodeForm is the page on which a namespace, a model or a version is made or changed.
type nodeForm struct {
	shell.Frame
	// At is what is changed, or what something is made in.
	At    modelrepo.Path
	IsNew bool
	// Kind is what is made or changed: a namespace, a model or a version.
	Kind string
	// Form has the fields. What is changed is there a second time with "before." in front, as
	// it was when the form was shown: what another person has changed since stays.
	Form url.Values
	// Fault says what is wrong, and Field where.
	Fault, Field string
	// Made is what was made or changed, and Done the sentence about it.
	Made modelrepo.Path
	Done string
}

// Value returns a field of the form.
func (f *nodeForm) Value(name string) string { return f.Form.Get(name) }

// Before returns a field as it was when the form was shown.
func (f *nodeForm) Before(name string) string { return f.Form.Get("before." + name) }

// fill sets a field to what it is now.
func (f *nodeForm) fill(name, value string) {
	f.Form.Set(name, value)
	f.Form.Set("before."+name, value)
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
		f.Form = r.PostForm
		err := send(r, f)
		if err == nil {
			return shell.SeeOther(w, f.Root+hrefOf(f.Made), f.Done)
		}
		fault := refusalOf(err)
		if fault == nil {
			return err
		}
		f.Fault = fault.Text()
		switch isField := errors.Is(err, modelrepo.ErrInvalid) || errors.Is(err, modelrepo.ErrExists); {
		case f.Field != "" || !isField:
		case strings.Contains(f.Fault, "etadata"):
			f.Field = "metadata"
		case f.IsNew:
			f.Field = "name"
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
	known := rest.Classify(err)
	if own := new(httpapi.Error); errors.As(err, &own) {
		known = own
	}
	if known == nil || known.Status == http.StatusNotFound || known.Status >= 500 && !errors.Is(err, modelrepo.ErrQuota) {
		return nil
	}
	return known
}

func (p *pages) newForm(r *http.Request, isNew bool) *nodeForm {
	at := web.PathOf(r)
	f := &nodeForm{At: at, IsNew: isNew, Form: url.Values{}, Made: at}
	depth := 0
	for _, name := range []string{at.Namespace, at.Model, at.Version} {
		if name != "" {
			depth++
		}
	}
	if isNew {
		f.Kind = [...]string{"namespace", "model", "version"}[depth]
		f.Frame = p.part.Frame(r, "New "+f.Kind, trailTo(at)...)
		return f
	}
	f.Kind = [...]string{"", "namespace", "model", "version"}[depth]
	f.Frame = p.part.Frame(r, "Change "+at.String(), trailTo(at)...)
	return f
}

// metadata returns the change of the metadata that the form asks for. Keys whose lines are
// as they were are left alone, and keys whose lines are gone are removed.
func (f *nodeForm) metadata() (modelrepo.Metadata, error) {
	before, err := readMetadata(f.Before("metadata"))
	if err != nil {
		return nil, err
	}
	after, err := readMetadata(f.Value("metadata"))
	if err != nil {
		f.Field = "metadata"
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
	after, err := readMetadata(f.Value("aliases"))
	if err != nil {
		f.Field = "aliases"
		return nil, err
	}
	change := map[string]string{}
	for alias, versions := range after {
		if len(versions) > 1 {
			f.Field = "aliases"
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
	after := strings.TrimSpace(f.Value(name))
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
