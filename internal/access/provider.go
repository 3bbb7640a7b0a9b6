package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Provider signs people in at an issuer of tokens, such as one of OpenID Connect.
type Provider interface {
	Verifier
	// Begin prepares a sign-in: the address of the issuer's page, and what Finish needs to
	// know of it: a few hundred bytes, which the browser keeps. An error that wraps
	// [ErrUnavailable] means that the issuer does not answer. That of Finish and Refresh may
	// also be a [*ClientError].
	Begin(ctx context.Context) (page string, state []byte, err error)
	// Finish ends a sign-in with the query with which the browser comes back.
	Finish(ctx context.Context, state []byte, answer url.Values) (Grant, error)
	// Refresh returns a later grant. An error that wraps [ErrInvalid] means that the issuer
	// gives none, and that the session is over.
	Refresh(ctx context.Context, g Grant) (Grant, error)
	// EndURL returns the address at which the browser ends the session at the issuer. Empty
	// means that there is none.
	EndURL(ctx context.Context, g Grant) string
}

// Grant is what an issuer gives a person who has signed in.
type Grant struct {
	// Access is the token for calls, Refresh the one for a later grant, ID the one that tells
	// the issuer whose session ends.
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	ID      string `json:"id,omitempty"`
	// Expires is when Access does.
	Expires time.Time `json:"expires"`
}

// SignOn is how people sign in at a provider.
type SignOn struct {
	// Provider signs them in.
	Provider Provider
	// Name is that of the provider, for the sign-in page.
	Name string
	// AnswerURL is where the provider sends browsers back to: an address of a listener of
	// the door.
	AnswerURL string
}

// signOn is a SignOn that was read.
type signOn struct {
	provider Provider
	name     string
	answer   *url.URL
	warned   atomic.Int64 // when the log had last that the provider refuses this server, in Unix seconds
}

// SignOn has the sign-in page offer a provider, whose access tokens the door accepts from
// programs too. It is called before a listener is served.
func (d *Door) SignOn(s SignOn) error {
	answer, err := url.Parse(s.AnswerURL)
	if err != nil || (answer.Scheme != "http" && answer.Scheme != "https") || answer.Host == "" || !strings.HasPrefix(answer.Path, "/") {
		return fmt.Errorf("access: SignOn.AnswerURL: %q: expected http://HOST/PATH or https://HOST/PATH", s.AnswerURL)
	}
	d.signOn.Store(&signOn{provider: s.Provider, name: s.Name, answer: answer})
	return nil
}

// HasProvider reports whether people may sign in at a provider.
func (d *Door) HasProvider() bool { return d.signOn.Load() != nil }

const (
	signOnPath = Prefix + "sign-on"
	answerPath = Prefix + "signed-on"
	// loginTime is how long a sign-in at the provider may take.
	loginTime = 10 * time.Minute
)

// longestReturn is the largest length of the path that a sign-in leads back to, so that the
// cookie of the sign-in fits into the 4,096 bytes that browsers keep.
const longestReturn = 2000

// login is a sign-in that has begun. The browser keeps it in a cookie: callers that are
// not identified yet fill no storage, and end no sessions.
type login struct {
	State []byte    `json:"state"`
	To    string    `json:"to"` // absolute
	Until time.Time `json:"until"`
}

// loginCookie is the name of the cookie of a sign-in that has begun.
func (d *Door) loginCookie() string { return CookiePrefix + d.config.Name + "-login" }

// beginSignOn sends the browser to the provider.
func (p *pages) beginSignOn(w http.ResponseWriter, r *http.Request) error {
	d := p.door
	on := d.signOn.Load()
	if on == nil {
		return &httpapi.Error{
			Status: http.StatusNotFound,
			Detail: "This server has no identity provider. Sign in with a token at " + signInPath + ".",
		}
	}
	to := ownPath(r.URL.Query().Get("to"))
	if len(to) > longestReturn {
		to = "/"
	}
	here := &url.URL{Scheme: "http", Host: r.Host}
	if d.isSecure(r) {
		here.Scheme = "https"
	}
	if name := on.answer.Hostname(); !strings.EqualFold(httpapi.Hostname(r), name) {
		// The cookies that are set here would not be sent there.
		here.Host = withPort(name, here.Port())
		return seeOther(w, here.String()+signOnPath+"?"+url.Values{"to": {to}}.Encode())
	}
	page, state, err := on.provider.Begin(r.Context())
	if err != nil {
		return unreachable(err)
	}
	value, err := json.Marshal(login{State: state, To: here.String() + to, Until: time.Now().Add(loginTime)})
	if err != nil {
		return fmt.Errorf("begin sign-in: %w", err)
	}
	d.setCookie(w, r, d.loginCookie(), base64.RawURLEncoding.EncodeToString(value), loginTime)
	return seeOther(w, page)
}

// isSecure reports whether the browser has sent a request over https: to this listener, or to
// a proxy in front of it that has the address to which the provider sends browsers back.
func (d *Door) isSecure(r *http.Request) bool {
	on := d.signOn.Load()
	return r.TLS != nil || (on != nil && on.answer.Scheme == "https" && strings.EqualFold(r.Host, on.answer.Host))
}

// withPort returns a host with a port, which may be empty.
func withPort(name, port string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port != "" {
		name += ":" + port
	}
	return name
}

// finishSignOn ends a sign-in: the browser comes back from the provider.
func (p *pages) finishSignOn(w http.ResponseWriter, r *http.Request) error {
	d := p.door
	on := d.signOn.Load()
	begun, ok := p.takeLogin(w, r)
	if on == nil || !ok || !on.serves(begun.To) {
		return &httpapi.Error{Status: http.StatusBadRequest,
			Detail: "This sign-in has taken too long, or was begun in another window. Please try again: " + signOnPath}
	}
	grant, err := on.provider.Finish(r.Context(), begun.State, r.URL.Query())
	if errors.Is(err, ErrUnavailable) {
		return unreachable(err)
	}
	if err != nil {
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "The identity provider did not sign you in. Please try again.", Err: err}
	}
	identity, err := on.provider.Identify(r.Context(), grant.Access)
	if errors.Is(err, ErrUnavailable) {
		return unreachable(err)
	}
	if err != nil {
		return &httpapi.Error{Status: http.StatusForbidden,
			Detail: "The identity provider has given a token that is not accepted here.", Err: err}
	}
	d.endSession(r)
	if err := d.beginSession(w, r, "person "+identity.Name, session{Grant: &grant, Name: identity.Name}); err != nil {
		return err
	}
	d.config.Logger.Info("signed in", "name", identity.Name, "role", identity.Role, "address", r.RemoteAddr)
	// A page, because a browser that another site has sent here would follow a redirect
	// without the new cookie.
	return p.show(w, http.StatusOK, view{To: begun.To, Caller: identity, GoOn: true})
}

// takeLogin returns the sign-in of a browser, which is over then: the provider takes its state
// once.
func (p *pages) takeLogin(w http.ResponseWriter, r *http.Request) (login, bool) {
	d := p.door
	cookie, err := r.Cookie(d.loginCookie())
	if err != nil {
		return login{}, false
	}
	d.setCookie(w, r, d.loginCookie(), "", -time.Second)
	value, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return login{}, false
	}
	var begun login
	err = json.Unmarshal(value, &begun)
	return begun, err == nil && time.Now().Before(begun.Until)
}

// serves reports whether an address is one of this host, on any port. Another server of the
// host can set cookies here.
func (on *signOn) serves(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil &&
		strings.EqualFold(u.Hostname(), on.answer.Hostname())
}

// unreachable returns what a browser gets while the provider does not sign people in.
func unreachable(err error) error {
	var client *ClientError
	if errors.As(err, &client) {
		return client.refusal()
	}
	return &httpapi.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"5"}},
		Detail: "The identity provider cannot be reached. Please try again.", Err: err}
}

// Granted returns who sends a request and what the provider has given that person. The error
// matches [ErrNoSession] for a browser that has not signed in there.
func (d *Door) Granted(r *http.Request) (Identity, Grant, error) {
	identity, grant, err := d.granted(r)
	if err == nil && grant.Access == "" {
		err = ErrNoSession
	}
	return identity, grant, err
}

// Caller returns the person whose browser sends a request, for pages that show it: by session
// or client certificate. Nothing is counted, and a person that is not known is not an error: it has
// no name and no role. An open door lets everyone do more than the role says; see [Door.IsOpen].
func (d *Door) Caller(r *http.Request) Identity {
	identity, err := d.signedIn(r)
	if err != nil {
		identity = Identity{}
		if d.config.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
			identity = certified(r.TLS.VerifiedChains[0][0], d.config.CertificateRole)
		}
	}
	return identity
}
