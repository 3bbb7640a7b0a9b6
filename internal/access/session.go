package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// CookiePrefix begins the names of the cookies of all doors, so that a proxy can take them
// out of requests.
const CookiePrefix = "enablers-session-"

// session is what a browser has proved. It is worth what its token is: one that has expired
// or was removed ends the session.
type session struct {
	// Token is that of the sign-in form.
	Token string `json:"token,omitempty"`
	// Grant is what the provider has given instead.
	Grant *Grant `json:"grant,omitempty"`
	// Name is that of the person with the grant. A later grant is for the same person.
	Name string `json:"name,omitempty"`
}

// beginSession starts the session of a person in a browser.
func (d *Door) beginSession(w http.ResponseWriter, r *http.Request, owner string, s session) error {
	value, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	secret, err := d.sessions.Begin(r.Context(), owner, value)
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	d.setCookie(w, r, d.cookieName(), secret, SessionTime)
	return nil
}

// signedIn returns the identity of the person whose browser sends a request. The error is
// ErrNoSession, or says why the session cannot be looked at.
func (d *Door) signedIn(r *http.Request) (Identity, error) {
	identity, _, err := d.granted(r)
	return identity, err
}

// granted returns also what the provider has given, if the person has signed in there.
func (d *Door) granted(r *http.Request) (Identity, Grant, error) {
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return Identity{}, Grant{}, ErrNoSession
	}
	value, err := d.sessions.Find(r.Context(), cookie.Value)
	if err != nil {
		return Identity{}, Grant{}, unlessGone(err)
	}
	s, err := readSession(value)
	if err != nil {
		return Identity{}, Grant{}, err
	}
	if s.Grant != nil {
		return d.grantedBy(r.Context(), cookie.Value, s)
	}
	identity, err := d.lookUp(r.Context(), s.Token)
	if errors.Is(err, ErrInvalid) {
		err = ErrNoSession // its token was removed or has expired
	}
	return identity, Grant{}, err
}

// grantedBy returns the identity behind the grant of a session, having refreshed it if it is
// about to expire.
func (d *Door) grantedBy(ctx context.Context, secret string, s session) (Identity, Grant, error) {
	on := d.signOn.Load()
	if on == nil {
		return Identity{}, Grant{}, ErrNoSession
	}
	if time.Until(s.Grant.Expires) < early {
		value, err := d.sessions.Update(ctx, secret, func(value []byte) ([]byte, error) {
			s, err := readSession(value)
			if err != nil || s.Grant == nil {
				return nil, ErrNoSession
			}
			if time.Until(s.Grant.Expires) >= early {
				return value, nil // another request was first
			}
			// The provider may use the old token up although the browser has gone away.
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
			defer cancel()
			next, err := on.provider.Refresh(late, *s.Grant)
			d.warnOfClient(on, err)
			if errors.Is(err, ErrUnavailable) && time.Now().Before(s.Grant.Expires) {
				return value, nil // valid for a moment, and the provider may be back then
			}
			if err != nil {
				return nil, err
			}
			s.Grant = &next
			return json.Marshal(s)
		})
		if errors.Is(err, ErrInvalid) {
			_ = d.sessions.End(ctx, secret) // otherwise it ends by itself
			err = ErrNoSession
		}
		if err != nil {
			return Identity{}, Grant{}, unlessGone(err)
		}
		if s, err = readSession(value); err != nil {
			return Identity{}, Grant{}, err
		}
	}
	identity, err := on.provider.Identify(ctx, s.Grant.Access)
	switch {
	case err == nil && s.Name != "" && identity.Name != s.Name:
		_ = d.sessions.End(ctx, secret) // otherwise it is refused at the next request too
		return Identity{}, Grant{}, ErrNoSession
	case err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil:
		err = ErrNoSession
	}
	return identity, *s.Grant, err
}

// warnOfClient has the log say that the provider refuses this server as its client, once a
// minute at most: it stops every person whose grant ends, and no page of a sign-in shows it.
func (d *Door) warnOfClient(on *signOn, err error) {
	var client *ClientError
	if !errors.As(err, &client) {
		return
	}
	now, last := time.Now().Unix(), on.warned.Load()
	if now-last >= 60 && on.warned.CompareAndSwap(last, now) {
		d.config.Logger.Error("sessions cannot be continued", "error", client.refusal())
	}
}

const (
	// early is how long before its end a grant is refreshed.
	early = 30 * time.Second
	// refreshTime is how long that may take.
	refreshTime = 10 * time.Second
)

func readSession(value []byte) (session, error) {
	var s session
	if json.Unmarshal(value, &s) != nil {
		return session{}, ErrNoSession // of a later version
	}
	return s, nil
}

// unlessGone returns ErrNoSession as it is, and says of other errors that the storage does
// not answer.
func unlessGone(err error) error {
	if errors.Is(err, ErrNoSession) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: sessions: %w", ErrUnavailable, err)
}

// cookieName differs between servers, because browsers send cookies to every port of a
// host.
func (d *Door) cookieName() string { return CookiePrefix + d.config.Name }

// setCookie has the browser keep a secret for a time; a negative one removes it.
func (d *Door) setCookie(w http.ResponseWriter, r *http.Request, name, secret string, age time.Duration) {
	cookie := &http.Cookie{Name: name, Value: secret, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: d.isSecure(r), SameSite: http.SameSiteStrictMode}
	if name == d.loginCookie() {
		cookie.SameSite = http.SameSiteLaxMode // the provider's page leads back here
	}
	http.SetCookie(w, cookie)
}
