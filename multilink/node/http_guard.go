package node

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// guard says which requests are answered: those that show the token as RFC 6750 has
// it, those over a TLS connection with a client certificate that was verified, and those
// of a browser that has signed in with the token. What a page of another origin has a
// browser send is refused before, whatever it shows, by the origins of the routes.
type guard struct {
	token        [sha256.Size]byte
	hasToken     bool
	certificates bool
	clock        func() time.Time
	// cookie is its name. Browsers send cookies to every port of a host, and a
	// server and a client may share one.
	cookie string

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]time.Time // when they end, by the hash of their secret
}

// The bounds of sessions of browsers.
const (
	sessionTime = 12 * time.Hour
	maxSessions = 100
)

func newGuard(role Role, token string, certificates bool) *guard {
	return &guard{token: sha256.Sum256([]byte(token)), hasToken: token != "", certificates: certificates,
		cookie: "multilink-" + string(role),
		clock:  time.Now, sessions: map[[sha256.Size]byte]time.Time{}}
}

// knows reports whether a token is the right one. The time that it takes says nothing
// about the token.
func (g *guard) knows(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && g.hasToken
}

// admits reports whether a request may pass.
func (g *guard) admits(r *http.Request) bool {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		return strings.EqualFold(scheme, "Bearer") && g.knows(strings.TrimSpace(token))
	}
	return g.certified(r) || g.signedIn(r)
}

// certified reports whether the connection has a client certificate that the listener
// has verified.
func (g *guard) certified(r *http.Request) bool {
	return g.certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0
}

// protect passes on only requests that may pass.
func (g *guard) protect(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !g.admits(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="multilink"`)
			return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "a valid token is needed: Authorization: Bearer TOKEN"}
		}
		return f(w, r)
	}
}

// signedIn reports whether a request is of a browser that has signed in.
func (g *guard) signedIn(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookie)
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ends, ok := g.sessions[sha256.Sum256([]byte(cookie.Value))]
	return ok && g.clock().Before(ends)
}

// begin starts a session and returns its secret. Of too many, the oldest ends.
func (g *guard) begin() string {
	secret := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	var oldest [sha256.Size]byte
	var first time.Time
	for sum, ends := range g.sessions {
		if !g.clock().Before(ends) {
			delete(g.sessions, sum)
		} else if first.IsZero() || ends.Before(first) {
			oldest, first = sum, ends
		}
	}
	if len(g.sessions) >= maxSessions {
		delete(g.sessions, oldest)
	}
	g.sessions[sha256.Sum256([]byte(secret))] = g.clock().Add(sessionTime)
	return secret
}

// end ends the session of a request.
func (g *guard) end(r *http.Request) {
	if cookie, err := r.Cookie(g.cookie); err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.sessions, sha256.Sum256([]byte(cookie.Value)))
	}
}
