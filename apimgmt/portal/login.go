package portal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
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

// ownLogin signs people in at the provider, and keeps their sessions. It is made with
// newOwnLogin.
type ownLogin struct {
	config   Config
	secure   bool // whether cookies go over https alone
	seal     cipher.AEAD
	sessions *book
}

var _ entrance = (*ownLogin)(nil)

func newOwnLogin(config Config) (*ownLogin, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &ownLogin{config: config, secure: strings.HasPrefix(config.URL, "https://"), seal: seal,
		sessions: newBook(config.Sessions, config.Idle, config.Longest)}, nil
}

// visit implements entrance.
func (l *ownLogin) visit(r *http.Request) (*visitor, error) {
	number := l.cookie(r, sessionCookie)
	s := l.sessions.find(number)
	if s == nil {
		return nil, ErrSignedOut
	}
	tokens, who, err := l.refresh(r.Context(), s)
	if err != nil {
		if errors.Is(err, ErrSignedOut) {
			l.sessions.end(number)
		}
		return nil, err
	}
	v := l.config.visitorOf(who, tokens)
	v.Form = s.form
	return v, nil
}

// address implements entrance.
func (l *ownLogin) address(r *http.Request) string {
	address := shell.Root(r) + "login"
	if r.URL.Path == "/" {
		return address
	}
	return address + "?back=" + url.QueryEscape(r.URL.RequestURI())
}

// person implements entrance.
func (l *ownLogin) person(r *http.Request, _ shell.Person, v *visitor) shell.Person {
	if v == nil {
		return shell.Person{SignIn: l.address(r)}
	}
	return shell.Person{Name: v.User, SignOut: shell.Root(r) + "logout", Form: v.Form}
}

// formTarget implements entrance: people sign out at the provider.
func (l *ownLogin) formTarget(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // it is known, but for the first time
	defer cancel()
	where, err := l.config.Client.EndSessionURL(ctx, "", "")
	if err != nil {
		return ""
	}
	u, err := url.Parse(where)
	if err != nil {
		return ""
	}
	at, _ := origin(u.Scheme + "://" + u.Host)
	return at
}

// routes implements entrance.
func (l *ownLogin) routes() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: "GET /login", Func: l.login}, {Pattern: "GET " + AnswerPath, Func: l.answer}, {Pattern: "POST /logout", Func: l.logout},
	}
}

// login sends the browser to the provider.
func (l *ownLogin) login(w http.ResponseWriter, r *http.Request) error {
	begun, err := l.config.Client.Begin(r.Context())
	if err != nil {
		return unavailable(err)
	}
	sealed, err := l.sealed("login", pending{Login: begun, Back: localPath(r.URL.Query().Get("back")), Until: time.Now().Add(loginTime)})
	if err != nil {
		return err
	}
	l.setCookie(w, loginCookie, sealed, loginTime)
	seeOther(w, begun.URL)
	return nil
}

// unavailable returns the answer while the provider cannot be reached, or refuses the portal.
func unavailable(err error) error {
	detail := "The identity provider cannot be reached. Please try again."
	if errors.Is(err, oidc.ErrClient) {
		detail = "The identity provider refuses the credentials of this portal. Its operator has to renew them."
	}
	return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: detail, Err: err}
}

// answer ends a login: the browser comes back from the provider.
func (l *ownLogin) answer(w http.ResponseWriter, r *http.Request) error {
	var begun pending
	known := l.open("login", l.cookie(r, loginCookie), &begun) && time.Now().Before(begun.Until)
	l.setCookie(w, loginCookie, "", 0)
	if !known {
		return &httpapi.Error{Status: http.StatusBadRequest,
			Detail: "This sign-in has taken too long, or was begun in another window. Please try again."}
	}
	tokens, err := l.config.Client.Exchange(r.Context(), begun.Login, r.URL.Query())
	var refusal *oidc.Refusal
	switch {
	case errors.Is(err, oidc.ErrClient), errors.Is(err, oidc.ErrUnreachable):
		return unavailable(err)
	case errors.As(err, &refusal):
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "The identity provider has refused to sign you in.", Err: err}
	case err != nil:
		return &httpapi.Error{Status: http.StatusBadRequest,
			Detail: "The answer of the identity provider does not belong to this sign-in. Please try again.", Err: err}
	}
	who, err := l.config.Verifier.Verify(r.Context(), tokens.Access)
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		return unavailable(err)
	case err != nil:
		return &httpapi.Error{Status: http.StatusForbidden,
			Detail: "The identity provider has given a token that is not accepted here.", Err: err}
	}
	l.sessions.end(l.cookie(r, sessionCookie)) // the session that was here before
	l.setCookie(w, sessionCookie, l.sessions.add(tokens, who), l.config.Longest)
	l.config.Logger.Info("signed in", "user", who.Username, "roles", l.config.roleOf(who))
	seeOther(w, shell.Root(r)+strings.TrimPrefix(begun.Back, "/"))
	return nil
}

// logout ends the session here, and sends the browser to the provider to end it
// there.
func (l *ownLogin) logout(w http.ResponseWriter, r *http.Request) error {
	v, err := l.visit(r)
	if errors.Is(err, ErrSignedOut) {
		return errNotAnyMore()
	}
	if err != nil {
		return err
	}
	if err := v.checkForm(r); err != nil {
		return err
	}
	l.sessions.end(l.cookie(r, sessionCookie))
	l.setCookie(w, sessionCookie, "", 0)
	l.config.Logger.Info("signed out", "user", v.User)
	where, err := l.config.Client.EndSessionURL(r.Context(), v.idToken, l.config.URL+"/")
	if err != nil {
		l.config.Logger.Warn("signed out here alone", "user", v.User, "error", err)
		where = shell.Root(r)
	}
	seeOther(w, where)
	return nil
}

// refresh ensures that the access token of a session is good for a while, and
// returns what it says. ErrSignedOut means that it cannot be.
func (l *ownLogin) refresh(ctx context.Context, s *session) (oidc.Tokens, *oidc.Claims, error) {
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
	tokens, err := l.config.Client.Refresh(late, s.tokens.Refresh)
	var refusal *oidc.Refusal
	switch {
	case errors.As(err, &refusal) && !errors.Is(err, oidc.ErrClient), errors.Is(err, oidc.ErrMissing):
		return oidc.Tokens{}, nil, ErrSignedOut
	case err != nil && time.Now().Before(s.tokens.Expires):
		return s.tokens, s.who, nil // valid for a moment, and maybe the provider is back then
	case err != nil:
		return oidc.Tokens{}, nil, unavailable(err)
	}
	if tokens.ID == "" {
		tokens.ID = s.tokens.ID
	}
	s.tokens = *tokens
	who, err := l.config.Verifier.Verify(late, tokens.Access)
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		s.tokens.Expires = time.Time{} // the next request tries again
		return oidc.Tokens{}, nil, unavailable(err)
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
