package devidp

import (
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/internal/httpapi"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle []byte

// page is the data of the template.
type page struct {
	Title, Realm, Style string
	Action, Seal        string // of the form, if there is one
	Login               bool   // the form asks for name and password
	Client, User, Fault string
	Text                string
	Button              string
	Link, LinkText      string
	Issuer              string
}

// formToken returns the cookie that ties forms to the browser, and sets it if
// there is none.
func (h *handler) formToken(w http.ResponseWriter, r *http.Request) string {
	if known := cookieValue(r, formCookie); len(known) >= 26 && len(known) <= 64 {
		return known
	}
	made := rand.Text()
	h.setCookie(w, formCookie, made)
	return made
}

func (h *handler) loginPage(w http.ResponseWriter, r *http.Request, status int, asked request, user, fault string) error {
	sealed, err := h.sealForm("login", h.formToken(w, r), asked)
	if err != nil {
		return err
	}
	// Browsers hold a form to this also for where its answer redirects to.
	back, _ := url.Parse(asked.Redirect)
	return h.show(w, status, back.Scheme+"://"+back.Host, page{
		Title: "Sign in", Action: h.issuer + "/login-actions/authenticate", Seal: sealed, Login: true,
		Client: asked.Client, User: user, Fault: fault, Button: "Sign in",
	})
}

func (h *handler) errorPage(w http.ResponseWriter, status int, text string) error {
	return h.show(w, status, "", page{Title: "This did not work", Fault: text})
}

// show writes a page that may load its style and nothing else, be in no frame,
// and send its form here and be sent on from there.
func (h *handler) show(w http.ResponseWriter, status int, on string, what page) error {
	what.Realm = h.config.Realm.Name
	what.Style = h.issuer + "/login-actions/style.css"
	what.Issuer = h.issuer
	parsed, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	where, _ := url.Parse(h.issuer)
	self := where.Scheme + "://" + where.Host
	policy := "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'self' " + self + "; form-action 'self' " + self
	if on != "" {
		policy += " " + on
	}
	w.Header().Set("X-Frame-Options", "DENY")
	return httpapi.WritePage(w, status, parsed, "", what, httpapi.PagePolicy{Content: policy, Referrer: "no-referrer"})
}

func style(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "max-age=3600")
	_, _ = w.Write(pageStyle) // fails only if the browser has gone
	return nil
}
