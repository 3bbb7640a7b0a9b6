package portal

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// loginTime is how long signing in may take.
const loginTime = 10 * time.Minute

// pending is a login that has begun, sealed in a cookie.
type pending struct {
	Login oidc.Login `json:"login"`
	Back  string     `json:"back"`
	Until time.Time  `json:"until"`
}

// login sends the browser to the provider, or to where the program signs people in.
func (p *Portal) login(w http.ResponseWriter, r *http.Request) error {
	if p.config.SignedIn != nil {
		address, _, _ := strings.Cut(r.RequestURI, "?")
		mount := strings.TrimSuffix(address, r.URL.EscapedPath())
		seeOther(w, p.signInAt(mount+localPath(r.URL.Query().Get("back"))))
		return nil
	}
	begun, err := p.config.Client.Begin(r.Context())
	if err != nil {
		return &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	}
	sealed, err := p.sealed("login", pending{Login: begun, Back: localPath(r.URL.Query().Get("back")), Until: time.Now().Add(loginTime)})
	if err != nil {
		return err
	}
	p.setCookie(w, loginCookie, sealed, loginTime)
	seeOther(w, begun.URL)
	return nil
}

// answer ends a login: the browser comes back from the provider.
func (p *Portal) answer(w http.ResponseWriter, r *http.Request) error {
	var begun pending
	known := p.open("login", p.cookie(r, loginCookie), &begun) && time.Now().Before(begun.Until)
	p.setCookie(w, loginCookie, "", 0)
	if !known {
		return &httpapi.Error{Status: http.StatusBadRequest,
			Detail: "This sign-in has taken too long, or was begun in another window. Please try again."}
	}
	tokens, err := p.config.Client.Exchange(r.Context(), begun.Login, r.URL.Query())
	var refusal *oidc.Refusal
	switch {
	case errors.As(err, &refusal):
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "The identity provider has refused to sign you in.", Err: err}
	case errors.Is(err, oidc.ErrUnreachable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	case err != nil:
		return &httpapi.Error{Status: http.StatusBadRequest,
			Detail: "The answer of the identity provider does not belong to this sign-in. Please try again.", Err: err}
	}
	who, err := p.config.Verifier.Verify(r.Context(), tokens.Access)
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	case err != nil:
		return &httpapi.Error{Status: http.StatusForbidden,
			Detail: "The identity provider has given a token that is not accepted here.", Err: err}
	}
	p.sessions.end(p.cookie(r, sessionCookie)) // the session that was here before
	p.setCookie(w, sessionCookie, p.sessions.add(tokens, who), p.config.Longest)
	p.config.Logger.Info("signed in", "user", who.Username, "roles", p.roleOf(who))
	seeOther(w, shell.Root(r)+strings.TrimPrefix(begun.Back, "/"))
	return nil
}

// signInAddress is where the person that sends a request signs in, and comes back from.
func (p *Portal) signInAddress(r *http.Request) string {
	if p.config.SignedIn != nil {
		return p.signInAt(r.RequestURI)
	}
	address := shell.Root(r) + "login"
	if r.URL.Path == "/" {
		return address
	}
	return address + "?back=" + url.QueryEscape(r.URL.RequestURI())
}

// signInAt is where the program signs a person in who wants to go to a path of the server.
func (p *Portal) signInAt(to string) string {
	return p.config.SignIn + "?" + url.Values{"to": {to}}.Encode()
}

// logoutElsewhere has the browser send the form on to where the program ends sessions.
func (p *Portal) logoutElsewhere(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Location", p.config.SignOut)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// logout ends the session here, and sends the browser to the provider to end it
// there.
func (p *Portal) logout(w http.ResponseWriter, r *http.Request, v *visitor) error {
	if err := p.checkForm(r, v); err != nil {
		return err
	}
	p.sessions.end(p.cookie(r, sessionCookie))
	p.setCookie(w, sessionCookie, "", 0)
	p.config.Logger.Info("signed out", "user", v.User)
	where, err := p.config.Client.EndSessionURL(r.Context(), v.idToken, p.config.URL+"/")
	if err != nil {
		p.config.Logger.Warn("signed out here alone", "user", v.User, "error", err)
		where = shell.Root(r)
	}
	seeOther(w, where)
	return nil
}

// refresh ensures that the access token of a session is good for a while, and
// returns what it says. ErrSignedOut means that it cannot be.
func (p *Portal) refresh(ctx context.Context, s *session) (oidc.Tokens, *oidc.Claims, error) {
	const early = 30 * time.Second
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return oidc.Tokens{}, nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if time.Until(s.tokens.Expires) > early {
		return s.tokens, s.who, nil
	}
	// The provider may have used the old refresh token up when the browser goes away.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	tokens, err := p.config.Client.Refresh(late, s.tokens.Refresh)
	var refusal *oidc.Refusal
	switch {
	case errors.As(err, &refusal), errors.Is(err, oidc.ErrMissing):
		return oidc.Tokens{}, nil, ErrSignedOut
	case err != nil && time.Now().Before(s.tokens.Expires):
		return s.tokens, s.who, nil // valid for a moment, and maybe the provider is back then
	case err != nil:
		return oidc.Tokens{}, nil, &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	}
	if tokens.ID == "" {
		tokens.ID = s.tokens.ID
	}
	s.tokens = *tokens
	who, err := p.config.Verifier.Verify(late, tokens.Access)
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		s.tokens.Expires = time.Time{} // the next request tries again
		return oidc.Tokens{}, nil, &httpapi.Error{Status: http.StatusServiceUnavailable,
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	case err != nil, who.Subject != s.who.Subject:
		return oidc.Tokens{}, nil, ErrSignedOut
	}
	s.who = who
	return s.tokens, who, nil
}

// ErrSignedOut reports that a browser is not signed in.
var ErrSignedOut = errors.New("portal: not signed in")

// localPath is a path of the portal where a login may lead, and "/" for everything
// else: another host however it is written, and the paths of logins themselves.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > 1000 || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		!strings.HasPrefix(text, "/") || strings.ContainsFunc(u.Path+u.RawQuery, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return "/"
	}
	clean := path.Clean(u.Path)
	if clean != u.Path || !strings.HasPrefix(clean, "/apis/") && clean != "/" {
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
