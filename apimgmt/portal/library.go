package portal

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/shell"
)

// pageSize is the number of APIs that a page of the library lists.
const pageSize = 50

// libraryView is the list of APIs.
type libraryView struct {
	Root         string // of the portal
	Query, State string
	States       []apimgmt.State
	APIs         []apimgmt.Record
	First, More  string // addresses of other pages of the list, or empty
}

// homeView is the first page.
type homeView struct {
	head
	Library libraryView
	Outcome outcome
}

// home answers with the library, or with an invitation to sign in.
func (p *Portal) home(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil && !errors.Is(err, ErrSignedOut) {
		return err
	}
	view := homeView{head: p.head(r, "API portal", v)}
	if v == nil && r.Header.Get(partHeader) != "" {
		return errSessionEnded()
	}
	if v == nil || v.Role == "" {
		return p.show(w, r, http.StatusOK, "home.html", &view)
	}
	if view.Library, err = p.library(r); err != nil {
		return err
	}
	if r.Header.Get(partHeader) != "" {
		return p.show(w, r, http.StatusOK, "library.html", &view)
	}
	view.Outcome.Base = view.Root
	return p.show(w, r, http.StatusOK, "home.html", &view)
}

// toLibrary leads a browser that loads the answer to a form again to the library.
func (p *Portal) toLibrary(w http.ResponseWriter, r *http.Request) error {
	return shell.SeeOther(w, shell.Root(r), "")
}

// library lists the records that the query of a request selects.
func (p *Portal) library(r *http.Request) (libraryView, error) {
	query := r.URL.Query()
	view := libraryView{Root: shell.Root(r),
		Query: query.Get("q"), States: []apimgmt.State{apimgmt.Published, apimgmt.Deprecated, apimgmt.Draft, apimgmt.Sunset}}
	if state, err := apimgmt.ParseState(query.Get("state")); err == nil {
		view.State = string(state)
	}
	list, more, err := p.config.Publisher.List(r.Context(),
		apimgmt.Query{Text: view.Query, State: apimgmt.State(view.State), After: query.Get("after"), Limit: pageSize})
	if err != nil {
		return view, err
	}
	view.APIs = list
	if query.Get("after") != "" {
		view.First = view.address("")
	}
	if more {
		view.More = view.address(list[len(list)-1].Enabler)
	}
	return view, nil
}

// address is the address of a page of the list.
func (v libraryView) address(after string) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": v.Query, "state": v.State, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return v.Root
	}
	return v.Root + "?" + query.Encode()
}
