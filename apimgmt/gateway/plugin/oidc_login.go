package plugin

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// login is the part of the plugin that is for users of a browser.
type login struct {
	client      *oidc.Client
	cookies     cookies
	callback    string // path; empty means the requested one
	logout      string // path
	afterLogout string // path or address
	recovery    string // path; empty means that failures are answered
	renewals    *renewals
	crossOrigin *http.CrossOriginProtection
}

// pending is a login that has begun, as the browser keeps it, sealed.
type pending struct {
	oidc.Login
	// Path is where it comes back to, and Back where it goes on.
	Path string `json:"path"`
	Back string `json:"back"`
	// Until is the time at which it expires, in seconds since 1970.
	Until int64 `json:"until"`
}

const (
	loginTime   = 10 * time.Minute
	longestBack = 2000 // bytes of an address that is gone back to
)

// newCookies is the key under which an exchange keeps Set-Cookie values for its
// response.
type newCookies struct{}

// browser answers for a request without a bearer token: it lets those with a
// session pass, and sends others to log in.
func (p *oidcPlugin) browser(x *gateway.Exchange) *gateway.Answer {
	now := x.Received()
	known, ok := p.login.cookies.session(x, now)
	if x.Path() == p.login.logout {
		return p.logOut(x, known)
	}
	if answer := p.finish(x, ok); answer != nil {
		return answer
	}
	if !ok {
		return p.begin(x)
	}
	if p.login.crossOrigin.Check(x.Request()) != nil || hijacked(x.Request()) {
		return gateway.Refuse(http.StatusForbidden, "a session is not for requests of other sites")
	}
	claims, known, err := p.current(x, known, now)
	if err != nil {
		return p.expired(x, known, err)
	}
	if answer := p.admit(x, claims); answer != nil {
		return answer
	}
	header := x.Upstream().Header
	header["X-Access-Token"] = []string{known.Access}
	if text := known.identity(); text != nil {
		header["X-Id-Token"] = []string{base64.StdEncoding.EncodeToString(text)}
	}
	return nil
}

// expired answers for a login session whose tokens have expired. A user that has
// just logged in is not sent there again: with an issuer whose tokens never count the
// browser would not stop.
func (p *oidcPlugin) expired(x *gateway.Exchange, s *session, err error) *gateway.Answer {
	const just = 30
	var refused *oidc.Refusal
	over := (errors.As(err, &refused) && !errors.Is(err, oidc.ErrClient)) || aboutToken(err)
	switch {
	case over && x.Received().Unix()-s.Begun >= just:
		return p.begin(x)
	case over:
		p.report(x.Context(), err)
		return p.failed("the tokens of the login do not count here", p.login.cookies.expire(x, 0))
	}
	return p.refusal(x.Context(), err)
}

// hijacked reports whether a page of another origin opens a connection that
// browsers do not protect: a WebSocket.
func hijacked(r *http.Request) bool {
	from := r.Header.Get("Origin")
	if from == "" || r.Header.Get("Upgrade") == "" {
		return false
	}
	origin, err := url.Parse(from)
	return err != nil || !strings.EqualFold(origin.Host, r.Host)
}

// current returns the claims of a session, which is renewed when its access token
// has expired.
func (p *oidcPlugin) current(x *gateway.Exchange, s *session, now time.Time) (*oidc.Claims, *session, error) {
	fresh := now.Unix() < s.Expires-int64(sessionEdge/time.Second)
	if fresh {
		claims, err := p.sessionClaims(x.Context(), s)
		if !aboutToken(err) {
			return claims, s, err
		}
	}
	if s.Refresh == "" {
		return nil, s, oidc.ErrExpired
	}
	tokens, err := p.login.renewals.do(x.Context(), s.Refresh, p.login.client.Refresh)
	if err != nil {
		return nil, s, err
	}
	if tokens.Claims != nil && tokens.Claims.Subject != sessionSubject(s) {
		return nil, s, oidc.ErrInactive // OpenID Connect Core section 12.2
	}
	renewed := newSession(tokens, s, now)
	lines, ok := p.login.cookies.setSession(x, renewed, now)
	if !ok {
		return nil, s, errors.New("the tokens are too long for cookies")
	}
	x.Set(newCookies{}, lines)
	claims, err := p.sessionClaims(x.Context(), renewed)
	return claims, renewed, err
}

func sessionSubject(s *session) string {
	claims, err := s.claims()
	if err != nil {
		return ""
	}
	return claims.Subject
}

// sessionClaims are those of the access token, or of the ID token if only the
// issuer can read the other one, and is not called.
func (p *oidcPlugin) sessionClaims(ctx context.Context, s *session) (*oidc.Claims, error) {
	if !p.introspects && strings.Count(s.Access, ".") != 2 {
		return s.claims()
	}
	return p.check(ctx, s.Access)
}

// head sets the cookies of a session that was renewed.
func (p *oidcPlugin) head(x *gateway.Exchange) {
	if lines, ok := x.Value(newCookies{}).([]string); ok {
		header := x.Response().Header
		header["Set-Cookie"] = append(header["Set-Cookie"][:len(header["Set-Cookie"]):len(header["Set-Cookie"])], lines...)
	}
}

// base is the address of the gateway as the browser has it.
func base(x *gateway.Exchange) (*url.URL, bool) {
	host := x.Request().Host
	made, err := url.Parse(x.Scheme() + "://" + host)
	ok := err == nil && host != "" && made.Host == host && made.User == nil && made.Path == "" && made.RawQuery == "" && made.Fragment == ""
	return made, ok
}

// begin sends the browser to log in.
func (p *oidcPlugin) begin(x *gateway.Exchange) *gateway.Answer {
	if !navigates(x.Request()) {
		return p.refuse(http.StatusUnauthorized, "no Authorization header found", "")
	}
	here, ok := base(x)
	if !ok {
		return gateway.Refuse(http.StatusBadRequest, "the Host header is malformed")
	}
	asked := x.Request().URL
	back := *here
	back.Path = asked.Path
	back.RawPath = asked.RawPath
	back.RawQuery = asked.RawQuery
	redirect := *here
	redirect.Path, redirect.RawPath = asked.Path, asked.RawPath
	path := x.Path()
	if p.login.callback != "" {
		redirect.Path = p.login.callback
		redirect.RawPath = ""
		path = p.login.callback
	}
	begun, err := p.login.client.BeginAt(x.Context(), redirect.String())
	if err != nil {
		return p.refusal(x.Context(), err)
	}
	wait := &pending{Login: begun, Path: path, Back: back.RequestURI(), Until: x.Received().Add(loginTime).Unix()}
	if len(wait.Back) > longestBack {
		wait.Back = "/"
	}
	lines, err := p.login.cookies.setLogin(x, wait)
	if err != nil {
		return p.refusal(x.Context(), err)
	}
	return redirectTo(begun.URL, lines)
}

// redirectTo sends a browser somewhere else.
func redirectTo(where string, setCookies []string) *gateway.Answer {
	return &gateway.Answer{Status: http.StatusFound, Header: http.Header{
		"Location": {where}, "Set-Cookie": setCookies, "Cache-Control": {"no-store"}, "Referrer-Policy": {"no-referrer"},
	}}
}

// navigates reports whether a request is one of a user at a browser, who can be
// sent somewhere else, rather than of a program or a script.
func navigates(r *http.Request) bool {
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || r.Header.Get("Upgrade") != "" {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	accept := r.Header.Get("Accept")
	return r.Header.Get("X-Requested-With") == "" && (accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*"))
}

// finish ends a login with the answer of the issuer. It returns nil for requests
// that are no such answer.
func (p *oidcPlugin) finish(x *gateway.Exchange, loggedIn bool) *gateway.Answer {
	if (p.login.callback != "" && x.Path() != p.login.callback) || x.Request().Method != http.MethodGet {
		return nil
	}
	query := x.Request().URL.Query()
	if p.login.callback == "" && (!query.Has("state") || (!query.Has("code") && !query.Has("error"))) {
		return nil
	}
	begun, ok := p.login.cookies.login(x, query.Get("state"), x.Received())
	switch {
	case ok && begun.Path == x.Path():
	case p.login.callback == "" && loggedIn:
		return nil // it is the service's own
	default:
		// Not sent to log in again: a browser without cookies would never stop.
		return p.failed("the login has expired, or was begun in another browser; cookies are required", nil)
	}
	drop := []string{cookie(x, p.login.cookies.loginName(x, begun.State), "", 0)}
	tokens, err := p.login.client.Exchange(x.Context(), begun.Login, query)
	if errors.Is(err, oidc.ErrUnreachable) || errors.Is(err, oidc.ErrClient) {
		return p.refusal(x.Context(), err)
	}
	if err != nil {
		p.log.LogAttrs(x.Context(), slog.LevelInfo, "a login has failed", slog.Any("error", err))
		return p.failed("the login has failed", drop)
	}
	lines, ok := p.login.cookies.setSession(x, newSession(tokens, nil, x.Received()), x.Received())
	here, valid := base(x)
	if !ok || !valid {
		return p.refusal(x.Context(), errors.New("the tokens are too long for cookies"))
	}
	return redirectTo(here.String()+begun.Back, append(lines, drop...))
}

// failed answers a login that came to nothing.
func (p *oidcPlugin) failed(message string, setCookies []string) *gateway.Answer {
	if p.login.recovery != "" {
		return redirectTo(p.login.recovery, setCookies)
	}
	answer := gateway.Refuse(http.StatusBadRequest, message)
	answer.Header["Cache-Control"] = []string{"no-store"}
	if len(setCookies) > 0 {
		answer.Header["Set-Cookie"] = setCookies
	}
	return answer
}

// logOut ends the session here and at the issuer.
func (p *oidcPlugin) logOut(x *gateway.Exchange, known *session) *gateway.Answer {
	here, ok := base(x)
	if !ok {
		return gateway.Refuse(http.StatusBadRequest, "the Host header is malformed")
	}
	back := p.login.afterLogout
	if strings.HasPrefix(back, "/") {
		back = here.String() + back
	}
	lines := p.login.cookies.expire(x, 0)
	if known == nil {
		return redirectTo(back, lines)
	}
	where, err := p.login.client.EndSessionURL(x.Context(), known.ID, back)
	if err != nil { // the issuer has no such endpoint, or cannot be reached
		p.report(x.Context(), err)
	}
	return redirectTo(cmp.Or(where, back), lines)
}
