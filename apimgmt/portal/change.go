package portal

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// readCondition returns the condition that a record is the one that the page showed.
func readCondition(r *http.Request) apimgmt.Condition {
	if seen := r.PostForm.Get("revision"); seen != "" {
		return apimgmt.Condition{Exists: true, Revisions: []string{seen}}
	}
	return apimgmt.Condition{Exists: true}
}

// describe changes the description of an enabler.
func (p *Portal) describe(w http.ResponseWriter, r *http.Request, v *visitor) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	text := strings.ReplaceAll(strings.TrimSpace(r.PostForm.Get("description")), "\r\n", "\n")
	record, err := p.config.Publisher.Describe(r.Context(), r.PathValue("enabler"), text, v.User, readCondition(r))
	if err != nil {
		return err
	}
	return shell.SeeOther(w, shell.Root(r)+versionAddress(record.Enabler, r.PostForm.Get("version")), "The description is saved.")
}

// setState brings a version into another state.
func (p *Portal) setState(w http.ResponseWriter, r *http.Request, v *visitor) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	if r.PostForm.Get("state") == "" {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "Choose the new state."}
	}
	state, err := apimgmt.ParseState(r.PostForm.Get("state"))
	if err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: sentence(err.Error())}
	}
	change := apimgmt.Transition{State: state, By: v.User, Condition: readCondition(r)}
	if state == apimgmt.Deprecated {
		change.Link = strings.TrimSpace(r.PostForm.Get("link"))
		if text := r.PostForm.Get("sunset"); text != "" {
			if change.Sunset, err = time.Parse(time.DateOnly, text); err != nil {
				return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The day of the sunset is not a date such as 2030-12-31."}
			}
		}
	}
	version := r.PostForm.Get("version")
	record, err := p.config.Publisher.SetState(r.Context(), r.PathValue("enabler"), version, change)
	if err != nil {
		return err
	}
	return shell.SeeOther(w, shell.Root(r)+versionAddress(record.Enabler, version), fmt.Sprintf("Version %s is %s now.", version, state))
}

// versionAddress is the address of the page that shows a version, from the root of the
// portal.
func versionAddress(enabler, version string) string {
	u := url.URL{Path: apiPath(enabler)}
	if version != "" {
		u.RawQuery = url.Values{"version": {version}}.Encode()
	}
	return u.String()
}

// deleteView asks for confirmation of a deletion.
type deleteView struct {
	head
	API     apimgmt.Record
	Version string // empty means all
	Back    string
}

// askDelete asks for confirmation.
func (p *Portal) askDelete(w http.ResponseWriter, r *http.Request, v *visitor) error {
	record, err := p.config.Publisher.Get(r.Context(), r.PathValue("enabler"))
	if err != nil {
		return err
	}
	view := deleteView{API: record}
	if version := r.URL.Query().Get("version"); version != "" {
		found, err := p.config.Publisher.GetVersion(r.Context(), record.Enabler, version)
		if err != nil {
			return err
		}
		view.Version = found.Version.Version
	}
	view.Back = versionAddress(record.Enabler, view.Version)
	view.head = p.head(r, "Delete "+record.Enabler, v, shell.Crumb{Name: record.Enabler, Href: view.Back})
	return p.show(w, r, http.StatusOK, "delete.html", &view)
}

// remove deletes a version, or an enabler with all of them.
func (p *Portal) remove(w http.ResponseWriter, r *http.Request, v *visitor) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	enabler, version := r.PathValue("enabler"), r.PostForm.Get("version")
	if version == "" {
		if err := p.config.Publisher.Delete(r.Context(), enabler, v.User, readCondition(r)); err != nil {
			return err
		}
		return shell.SeeOther(w, shell.Root(r), enabler+" is deleted.")
	}
	if err := p.config.Publisher.DeleteVersion(r.Context(), enabler, version, v.User, readCondition(r)); err != nil {
		return err
	}
	if _, err := p.config.Publisher.Get(r.Context(), enabler); err != nil {
		return shell.SeeOther(w, shell.Root(r), enabler+" is deleted.") // that was the last one
	}
	return shell.SeeOther(w, shell.Root(r)+versionAddress(enabler, ""), "Version "+version+" is deleted.")
}
