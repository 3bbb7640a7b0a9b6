package door

import (
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/shell"
)

// Person returns who sends a request, for the header of pages.
func (d *Door) Person(r *http.Request) shell.Person {
	caller := d.Caller(r)
	p := shell.Person{Name: caller.Name, Role: caller.Role}
	if d.IsOpen() {
		p.OpenTo = "this machine"
		if d.exposed {
			p.OpenTo = "every machine"
		}
	}
	back := "?" + url.Values{"to": {r.RequestURI}}.Encode()
	switch {
	case p.Name != "":
		p.SignOut = access.Prefix + "sign-out"
	case d.IsOpen() && d.HasProvider():
		p.SignIn = access.Prefix + "sign-on" + back // the other page would say that it is not needed
	case !d.IsOpen():
		p.SignIn = access.Prefix + "sign-in" + back
	}
	return p
}
