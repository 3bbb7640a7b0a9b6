package page

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/multilink/settings"
)

// formView is a page with a form: what was entered, and what is wrong with it.
type formView struct {
	shell.Frame
	// Server is whether the instance is a server.
	Server bool
	Values url.Values
	// Fault is a sentence, At the field that it is about.
	Fault, At string
	Policies  []settings.Policy
	Kinds     []settings.Kind
	// Name is that of the link that is changed, empty for a new one.
	Name string
	// Links are the names of all links.
	Links []string
}

// Value returns what was entered in a field.
func (v *formView) Value(field string) string { return strings.TrimSpace(v.Values.Get(field)) }

// Is reports whether a box is checked.
func (v *formView) Is(field string) bool { return v.Values.Has(field) }

// number returns a number that was entered, zero for an empty field.
func (v *formView) number(field string) (float64, error) {
	text := v.Value(field)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fault.Wrong(field, "want a number, got %.40q", text)
	}
	return n, nil
}

// form reads the form of a request. It is empty for a GET.
func (p *pages) form(w http.ResponseWriter, r *http.Request, title string) (*formView, error) {
	head := &p.node.Settings().Head
	view := &formView{Frame: p.part.Frame(r, title), Server: head.Role == desired.RoleServer, Values: url.Values{},
		Policies: settings.Policies(), Kinds: settings.Kinds()}
	for _, link := range head.Links {
		view.Links = append(view.Links, link.Name)
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, rest.MaxBody)
		if err := r.ParseForm(); err != nil {
			return nil, fault.Wrong("", "the form cannot be read: %v", err)
		}
		view.Values = r.PostForm
	}
	return view, nil
}

// show shows a form, after an error with what is wrong. Failures of the server are not
// shown in it.
func (p *pages) show(w http.ResponseWriter, r *http.Request, name string, view *formView, err error) error {
	status := http.StatusOK
	if err != nil {
		var f *fault.Fault
		if f, status = rest.Refusal(err); status >= http.StatusInternalServerError {
			return err
		}
		view.Fault, view.At = f.Detail, f.Field
		if f.Field != "" {
			view.Fault = labelOf(f.Field) + ": " + f.Detail
		}
		view.Fault = sentence(view.Fault)
	}
	return p.part.Show(w, r, status, name, view)
}

// labelOf returns what the forms call a field of a request.
func labelOf(field string) string {
	name, _, _ := strings.Cut(field, "[")
	switch name {
	case "public_key":
		return "Public key"
	case "addresses":
		return "Address"
	case "probe.interval_ms":
		return "Probe every (ms)"
	case "wait_to_restore_ms":
		return "Wait to restore (ms)"
	case "hold_s":
		return "For (seconds)"
	}
	return field
}

// toHome returns the address of a topic of the first page, relative to a page that many steps
// below it.
func toHome(steps int, anchor string) string {
	return cmp.Or(strings.Repeat("../", steps), "./") + "#" + anchor
}
