package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// Root is the path below which [Mount] serves the parts.
const Root = "/ui/"

// MountConfig configures [Mount].
type MountConfig struct {
	// Name is that of the program, for the header.
	Name string
	// Parts are in the order of the header.
	Parts []Part
	// Overview is the page at [Root]. Nil means that Root leads to the first part.
	Overview http.Handler
	// Home is the address of the first page, if another listener has it. Empty means Root.
	Home string
	// Person returns who sends a request. Nil means that callers are not identified.
	Person func(r *http.Request) shell.Person
	// Front says that browsers that open "/" are led to Root.
	Front bool
}

// Part is the pages of one room.
type Part struct {
	// Section is its name in the header, and Path that of its folder below [Root]. Of several
	// parts of a section the header leads to the first.
	Section, Path string
	// Name is that of the part in a section of several.
	Name string
	// Handler serves the pages, and gets paths without the folder. Nil means that another
	// listener does.
	Handler http.Handler
	// Elsewhere is the address of the pages at that listener, without a slash at the end. The
	// folder leads there.
	Elsewhere string
	// Person takes the place of that of the configuration on the pages of the part. Nil means
	// that of the configuration.
	Person func(r *http.Request) shell.Person
}

// Mount returns a handler that serves the parts in one shell below [Root], and passes all
// other requests on to next. What next serves has the same shell around it.
func Mount(next http.Handler, config MountConfig) http.Handler {
	s := &shell.Shell{Name: config.Name, Home: config.Home, Person: config.Person}
	if s.Home == "" {
		s.Home = Root
	}
	var sections []shell.Section
	s.Sections = func(*http.Request) []shell.Section { return sections }
	mux := http.NewServeMux()
	mux.Handle("/", next)
	if config.Overview != nil {
		sections = append(sections, shell.Section{Name: "Overview", Href: Root})
		mux.Handle(Root, httpapi.StripPrefix(strings.TrimSuffix(Root, "/"), config.Overview))
	} else if len(config.Parts) > 0 {
		mux.Handle(Root+"{$}", http.RedirectHandler(Root+config.Parts[0].Path+"/", http.StatusSeeOther))
	}
	for _, part := range config.Parts {
		folder := Root + part.Path
		at := slices.IndexFunc(sections, func(one shell.Section) bool { return one.Name == part.Section })
		if at < 0 {
			at = len(sections)
			sections = append(sections, shell.Section{Name: part.Section, Href: folder + "/"})
		}
		if part.Name != "" {
			sections[at].Parts = append(sections[at].Parts, shell.Section{Name: part.Name, Href: folder + "/"})
		}
		handler := part.Handler
		if handler == nil {
			handler = leadTo(part.Elsewhere)
		}
		if part.Person != nil {
			own := *s
			own.Person = part.Person
			handler = own.With(handler)
		}
		mux.Handle(folder+"/", httpapi.StripPrefix(folder, handler))
	}
	framed := s.With(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff") // of redirects, too
		if config.Front && r.URL.Path == "/" && opensPage(r) {
			w.Header().Set("Vary", "Accept")
			http.Redirect(w, r, Root, http.StatusSeeOther)
			return
		}
		framed.ServeHTTP(w, r)
	})
}

// leadTo returns a handler that leads to the same path below another address.
func leadTo(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := address + r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", to) // as it is: http.Redirect would clean the path
		w.WriteHeader(http.StatusSeeOther)
	})
}

// opensPage reports whether a browser opens a page with the request, rather than a program
// that takes what is there.
func opensPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}
