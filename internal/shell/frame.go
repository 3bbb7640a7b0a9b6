package shell

import (
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Frame is what a page shows around its content. The view of a page embeds it.
type Frame struct {
	// Title is the name of the page.
	Title string
	// Platform is the name of the program, Home the address of its first page.
	Platform, Home string
	// Root leads from the page to the root of its part. It ends with a slash.
	Root string
	// Sections are those of the header, Section is the name of the current one, SectionHref
	// its address, and SectionParts what it consists of, if there are several.
	Sections     []Section
	SectionParts []Section
	Section      string
	SectionHref  string
	// Trail leads from the root of the part to the page.
	Trail []Crumb
	// Person is who looks at the page.
	Person Person
	// Notices are what has to be said about the last action.
	Notices []Notice
	// Policy is what browsers allow the page. The zero value means httpapi.FormPage.
	Policy httpapi.PagePolicy

	guarded bool
}

// Crumb is a step of the way to a page.
type Crumb struct {
	Name string
	// Href is relative to the root of the part.
	Href string
}

// Can reports whether the person may do what takes a role. Pages offer nothing else. A page
// without a shell offers everything; the server decides.
func (f Frame) Can(role string) bool {
	return !f.guarded || f.Person.OpenTo != "" || f.Person.Role.Includes(httpapi.Role(role))
}

// Frame returns the frame of the page at a request. The title is that of the page; the crumbs
// are the steps between the root of the part and the page.
func (p *Part) Frame(r *http.Request, title string, trail ...Crumb) Frame {
	f := Frame{Title: title, Root: Root(r), Section: p.section, Trail: trail}
	f.Platform, f.Home, f.SectionHref = p.section, f.Root, f.Root
	s := of(r)
	if s == nil {
		f.Sections = []Section{{Name: p.section, Href: f.Root, Current: true}}
		return f
	}
	f.Platform = s.Name
	if s.Home != "" {
		f.Home = s.Home
	}
	for _, section := range s.Sections(r) {
		if section.Current = section.Name == p.section; section.Current {
			f.SectionHref = section.Href
			if len(section.Parts) > 1 {
				f.SectionParts = slices.Clone(section.Parts)
			}
			for i, part := range f.SectionParts {
				f.SectionParts[i].Current = strings.HasPrefix(r.RequestURI, part.Href)
			}
		}
		f.Sections = append(f.Sections, section)
	}
	if s.Person != nil {
		f.Person, f.guarded = s.Person(r), true
	}
	return f
}

// Root returns the relative address of the root of the handler that has the request: a step
// up for each slash after the first. A slash within a name is escaped, and is not a step.
func Root(r *http.Request) string {
	steps := strings.Count(r.URL.EscapedPath(), "/") - 1
	if steps <= 0 {
		return "./"
	}
	return strings.Repeat("../", steps)
}
