package access

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

const (
	// sessionTime is how long a browser stays signed in.
	sessionTime = 12 * time.Hour
	// CookiePrefix begins the names of the cookies of all doors, so that a proxy can take
	// them out of requests.
	CookiePrefix = "enablers-session-"
	// mostSessions bounds the sessions. Of too many, the oldest ends.
	mostSessions = 1000
	// mostOfToken bounds those of one token, so that its owner ends no session of others.
	mostOfToken = 20
)

// sessions are the login sessions of browsers. They end with the process.
type sessions struct {
	clock func() time.Time

	mu    sync.Mutex
	known map[digest]session // by the digest of their secret
}

// session is a browser that has signed in. It is worth what its token is: one that has
// expired or was removed ends the session. So it has the token itself, which a [Verifier] has to
// see at each request.
type session struct {
	token string
	ends  time.Time
}

func newSessions(clock func() time.Time) *sessions {
	return &sessions{clock: clock, known: map[digest]session{}}
}

// begin starts a session and returns its secret.
func (s *sessions) begin(token string) string {
	secret := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, own age
	for sum, one := range s.known {
		if !s.clock().Before(one.ends) {
			delete(s.known, sum)
			continue
		}
		all.count(sum, one)
		if one.token == token {
			own.count(sum, one)
		}
	}
	switch {
	case own.total >= mostOfToken:
		delete(s.known, own.oldest)
	case all.total >= mostSessions:
		delete(s.known, all.oldest)
	}
	s.known[digestOf(secret)] = session{token, s.clock().Add(sessionTime)}
	return secret
}

// age finds the oldest of some sessions.
type age struct {
	total  int
	oldest digest
	ends   time.Time
}

func (a *age) count(sum digest, one session) {
	a.total++
	if a.total == 1 || one.ends.Before(a.ends) {
		a.oldest, a.ends = sum, one.ends
	}
}

// find returns the token of a session.
func (s *sessions) find(secret string) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.known[digestOf(secret)]
	return one.token, ok && s.clock().Before(one.ends)
}

func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, digestOf(secret))
}

// count returns how many sessions have not ended.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, one := range s.known {
		if s.clock().Before(one.ends) {
			total++
		}
	}
	return total
}

// signedIn returns the identity of the person whose browser sends a request.
func (d *Door) signedIn(r *http.Request) (Identity, bool) {
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return Identity{}, false
	}
	token, ok := d.sessions.find(cookie.Value)
	if !ok {
		return Identity{}, false
	}
	identity, err := d.lookUp(r.Context(), token)
	return identity, err == nil
}

// cookieName differs between servers, because browsers send cookies to every port of a
// host.
func (d *Door) cookieName() string { return CookiePrefix + d.config.Name }

// setCookie has the browser keep a secret for a time in seconds; a negative one removes it.
func (d *Door) setCookie(w http.ResponseWriter, r *http.Request, secret string, age int) {
	http.SetCookie(w, &http.Cookie{Name: d.cookieName(), Value: secret, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
}
