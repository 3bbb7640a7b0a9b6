package admin

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/cookies"
	"github.com/iotenablers/enablers/internal/clientaddr"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// accountPages are those of the page's own account.
type accountPages struct{ *pages }

// routes are those of the account. Where there is none, they lead to the first page.
func (p accountPages) routes() []httpapi.Route {
	if p.account == nil {
		return []httpapi.Route{{Pattern: "GET /setup", Func: toFirst}, {Pattern: "GET /sign-in", Func: toFirst}}
	}
	routes := []httpapi.Route{
		{Pattern: "GET /setup", Func: p.showSetup},
		{Pattern: "POST /setup", Func: p.setup},
		{Pattern: "GET /sign-in", Func: p.showSignIn},
		{Pattern: "POST /sign-in", Func: p.signIn},
		{Pattern: "POST /sign-out", Func: p.signOut},
	}
	for i := range routes {
		routes[i].Role, routes[i].Func = httpapi.Public, p.guard.page(routes[i].Func)
	}
	return routes
}

func toFirst(w http.ResponseWriter, _ *http.Request) error { return shell.SeeOther(w, "./", "") }

// accountView is a page of the account.
type accountView struct {
	frame
	Fault      string
	Name       string // of the administrator
	NeedsToken bool
}

// signedIn redirects requests without a login session to the sign-in page.
func (p *pages) signedIn(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return p.guard.page(func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := p.account.find(sessionSecret(r), r.URL.Path != "/history"); ok {
			return f(w, r)
		}
		there, err := p.account.exists(r.Context())
		if err != nil {
			return err
		}
		if there {
			return redirect(w, r, "sign-in")
		}
		return redirect(w, r, "setup")
	})
}

func sessionSecret(r *http.Request) string {
	cookie, err := r.Cookie(cookies.Admin)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// redirect leads to a page, whose address is relative to the root of the pages.
func redirect(w http.ResponseWriter, r *http.Request, page string) error {
	return shell.SeeOther(w, shell.Root(r)+page, "")
}

func (p accountPages) showSetup(w http.ResponseWriter, r *http.Request) error {
	there, err := p.account.exists(r.Context())
	if err != nil {
		return err
	}
	if there {
		return redirect(w, r, "sign-in")
	}
	view := accountView{frame: p.frame(r, "Create the administrator", ""), NeedsToken: p.guard.hasToken}
	return p.part.Show(w, r, http.StatusOK, "setup.html", &view)
}

// setup creates the account at the first visit: with the token, or, without one, from
// this machine.
func (p accountPages) setup(w http.ResponseWriter, r *http.Request) error {
	name, secret := strings.TrimSpace(r.PostForm.Get("name")), r.PostForm.Get("password")
	again := func(status int, fault string) error {
		view := accountView{frame: p.frame(r, "Create the administrator", ""), Name: name, Fault: fault, NeedsToken: p.guard.hasToken}
		return p.part.Show(w, r, status, "setup.html", &view)
	}
	if p.guard.hasToken && !p.account.begin(remote(r)) {
		return again(http.StatusTooManyRequests, "Too many attempts. Wait a moment")
	}
	if p.guard.hasToken && !p.guard.knows(r.PostForm.Get("token")) {
		return again(http.StatusForbidden, "The token is wrong")
	}
	if secret != r.PostForm.Get("again") {
		return again(http.StatusBadRequest, "The passwords differ")
	}
	err := p.account.create(r.Context(), name, secret)
	var wrong *problem
	switch {
	case errors.As(err, &wrong):
		return again(wrong.status, wrong.Message)
	case errors.Is(err, errTaken):
		return p.askForPassword(w, r, http.StatusConflict, "", "There is an administrator already. Sign in")
	case err != nil:
		return err
	}
	p.logger.Info("the administrator of the gateway was created", "address", r.RemoteAddr)
	return p.begin(w, r, p.account.open(name, remote(r)))
}

func (p accountPages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	there, err := p.account.exists(r.Context())
	if err != nil {
		return err
	}
	if !there {
		return redirect(w, r, "setup")
	}
	return p.askForPassword(w, r, http.StatusOK, "", "")
}

func (p accountPages) askForPassword(w http.ResponseWriter, r *http.Request, status int, name, fault string) error {
	view := accountView{frame: p.frame(r, "Sign in", ""), Name: name, Fault: fault}
	return p.part.Show(w, r, status, "signin.html", &view)
}

func (p accountPages) signIn(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSpace(r.PostForm.Get("name"))
	secret, err := p.account.signIn(r.Context(), name, r.PostForm.Get("password"), remote(r))
	again := func(status int, fault string) error {
		p.logger.Warn("signing in to the gateway's page failed", "address", r.RemoteAddr, "status", status)
		return p.askForPassword(w, r, status, name, fault)
	}
	switch {
	case errors.Is(err, errPassword):
		return again(http.StatusForbidden, "Name or password is wrong")
	case errors.Is(err, errLocked):
		return again(http.StatusTooManyRequests, "Too many wrong passwords. Wait a moment")
	case err != nil:
		return err
	}
	return p.begin(w, r, secret)
}

// begin gives a browser its session.
func (p accountPages) begin(w http.ResponseWriter, r *http.Request, secret string) error {
	p.account.close(sessionSecret(r)) // the one before
	http.SetCookie(w, p.cookie(r, secret, int(sessionTime.Seconds())))
	return redirect(w, r, "")
}

func (p accountPages) cookie(r *http.Request, secret string, age int) *http.Cookie {
	return &http.Cookie{Name: cookies.Admin, Value: secret, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
}

func (p accountPages) signOut(w http.ResponseWriter, r *http.Request) error {
	p.account.close(sessionSecret(r))
	http.SetCookie(w, p.cookie(r, "", -1))
	return redirect(w, r, "sign-in")
}

// remote returns the address that the client of a request counts by.
func remote(r *http.Request) netip.Addr { return clientaddr.OfRemote(r.RemoteAddr) }
