package portal

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/iotenablers/enablers/internal/shell"
)

// ErrSignedOut reports that a browser is not signed in.
var ErrSignedOut = errors.New("portal: not signed in")

// signInAddress is the address at which the sender of a request signs in, and from which
// the program redirects back to the page.
func (p *Portal) signInAddress(r *http.Request) string { return p.signInAddressFor(r.RequestURI) }

// signInAddressFor is the address at which a person signs in before opening a path of the
// server.
func (p *Portal) signInAddressFor(to string) string {
	return p.config.SignIn + "?" + url.Values{"to": {to}}.Encode()
}

// person returns the viewer of a page. v is nil for a browser that is not signed in. known
// is the person that the shell knows.
func (p *Portal) person(r *http.Request, known shell.Person, v *visitor) shell.Person {
	switch {
	case v != nil:
		return shell.Person{Name: v.User, SignOut: p.config.SignOut}
	case known.Name == "":
		return shell.Person{SignIn: p.signInAddress(r)} // even if other pages are open to all
	}
	known.OpenTo = "" // the portal requires an account in any case
	return known
}

// login redirects to the sign-in of the program.
func (p *Portal) login(w http.ResponseWriter, r *http.Request) error {
	address, _, _ := strings.Cut(r.RequestURI, "?")
	mount := strings.TrimSuffix(address, r.URL.EscapedPath())
	seeOther(w, p.signInAddressFor(mount+localPath(r.URL.Query().Get("back"))))
	return nil
}

// logout redirects the form to the address at which the program ends sessions.
func (p *Portal) logout(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Location", p.config.SignOut)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// localPath returns a path of the portal to which a sign-in may redirect. It returns "/"
// for all other texts: other hosts in any notation, and the paths of sign-ins.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > 1000 || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		!strings.HasPrefix(text, "/") || strings.ContainsFunc(u.Path+u.RawQuery, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return "/"
	}
	clean := path.Clean(u.Path)
	if clean != u.Path || (!strings.HasPrefix(clean, "/apis/") && clean != "/") {
		return "/"
	}
	return (&url.URL{Path: clean, RawQuery: u.RawQuery}).String()
}

func seeOther(w http.ResponseWriter, where string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", where)
	w.WriteHeader(http.StatusSeeOther)
}
