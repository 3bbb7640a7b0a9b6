package page

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/node/rest"
)

// formView is a page with a form.
type formView struct {
	shell.Frame
	form.Fields
	// Fault is a sentence, empty if nothing is wrong.
	Fault string
	// Action is the address of the form, and Submit the text of its button.
	Action, Submit string
	// Back is the topic of the first page that the form returns to.
	Back string
}

// read fills in the form with what the browser has sent.
func (v *formView) read(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, rest.MaxBody); err != nil {
		return err
	}
	v.Fill(r.PostForm)
	return nil
}

// number returns a number that was entered, zero for an empty field.
func (v *formView) number(field string) (float64, error) {
	text := v.Get(field)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fault.Wrong(field, "want a number, got %.40q", text)
	}
	return n, nil
}

// showForm returns the handler that shows an empty form of instances with a role.
func (p *pages) showForm(role desired.Role, empty func(*http.Request) *formView) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := p.node.Settings().Only(role); err != nil {
			return err
		}
		return p.show(w, r, empty(r), nil)
	}
}

// show shows a form, after an error with what is wrong. Failures of the server are not
// shown in it.
func (p *pages) show(w http.ResponseWriter, r *http.Request, view *formView, err error) error {
	return p.showAs(w, r, "form.html", view, err)
}

// showAs is show with another template.
func (p *pages) showAs(w http.ResponseWriter, r *http.Request, template string, view *formView, err error) error {
	status := http.StatusOK
	if err != nil {
		var f *fault.Fault
		if f, status = rest.Refusal(err); status >= http.StatusInternalServerError {
			return err
		}
		view.Fault = f.Detail
		label := f.Field
		name, _, _ := strings.Cut(f.Field, "[")
		if field := view.Find(name); field != nil {
			label, field.Fault = field.Label, sentence(f.Detail)
		}
		if label != "" {
			view.Fault = label + ": " + f.Detail
		}
		view.Fault = sentence(view.Fault)
	}
	return p.part.Show(w, r, status, template, view)
}

// toHome returns the address of a topic of the first page, relative to a page that many steps
// below it.
func toHome(steps int, anchor string) string {
	return cmp.Or(strings.Repeat("../", steps), "./") + "#" + anchor
}
