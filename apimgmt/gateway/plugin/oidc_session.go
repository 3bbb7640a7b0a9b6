package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// session is a login session, which the browser keeps, sealed.
type session struct {
	Access  string `json:"a"`
	Refresh string `json:"r,omitempty"`
	ID      string `json:"i"`
	// Expires is the time at which the access token expires, and Until when the session ends, in
	// seconds since 1970. Begun is the time of the login.
	Expires int64 `json:"e"`
	Until   int64 `json:"u"`
	Begun   int64 `json:"b"`
}

// The times of sessions.
const (
	sessionIdle = time.Hour      // without a request, where the issuer does not say
	sessionLong = 24 * time.Hour // in any case
	sessionEdge = 5 * time.Second
)

// newSession creates a session of tokens. The one before is nil at a login.
func newSession(tokens *oidc.Tokens, before *session, now time.Time) *session {
	s := &session{Access: tokens.Access, Refresh: tokens.Refresh, ID: tokens.ID, Expires: tokens.Expires.Unix(), Begun: now.Unix()}
	if before != nil {
		s.Begun = before.Begun
		if s.ID == "" {
			s.ID = before.ID
		}
	}
	until := tokens.RefreshExpires
	switch {
	case s.Refresh == "":
		until = tokens.Expires
	case until.IsZero():
		until = now.Add(sessionIdle)
	}
	s.Until = min(until.Unix(), s.Begun+int64(sessionLong/time.Second))
	return s
}

// identity is the JSON of the claims of the ID token, which was verified before it
// was sealed.
func (s *session) identity() []byte {
	_, rest, _ := strings.Cut(s.ID, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil
	}
	return text
}

// claims are those of the ID token, for access tokens that only the issuer can
// read. It has neither roles nor scopes.
func (s *session) claims() (*oidc.Claims, error) {
	text := s.identity()
	var said struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Username string `json:"preferred_username"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, oidc.ErrMalformed
	}
	return &oidc.Claims{Issuer: said.Issuer, Subject: said.Subject, Username: said.Username, Raw: text}, nil
}

// renewals refresh sessions: each once, though a browser sends several requests
// with the same cookie at once. The tokens are kept for the requests that are
// still on their way with the old cookie, as issuers let a refresh token be used
// once only.
type renewals struct {
	mu      sync.Mutex
	known   map[[sha256.Size]byte]*renewal
	swept   time.Time // when those that are over were dropped
	running sync.WaitGroup
	closed  bool
}

type renewal struct {
	done   chan struct{}
	tokens *oidc.Tokens
	err    error
	until  time.Time // zero as long as it is not done
}

// Bounds of the renewals that are cached.
const (
	mostRenewals = 10_000
	renewalTime  = 30 * time.Second
)

var errBusy = errors.New("too many sessions are refreshed at once")

// do refreshes once for all callers. It goes on when the first of them leaves: the
// refresh token may be used up by then.
func (r *renewals) do(ctx context.Context, refresh string, call func(context.Context, string) (*oidc.Tokens, error)) (*oidc.Tokens, error) {
	of := sha256.Sum256([]byte(refresh))
	r.mu.Lock()
	known, ok := r.known[of]
	if !ok || (!known.until.IsZero() && time.Now().After(known.until)) {
		if !r.room(time.Now()) {
			r.mu.Unlock()
			return nil, errBusy
		}
		known = &renewal{done: make(chan struct{})}
		r.known[of] = known
		r.running.Go(func() { r.run(context.WithoutCancel(ctx), known, refresh, call) })
	}
	r.mu.Unlock()
	select {
	case <-known.done:
		return known.tokens, known.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *renewals) run(ctx context.Context, known *renewal, refresh string, call func(context.Context, string) (*oidc.Tokens, error)) {
	known.tokens, known.err = call(ctx, refresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	known.until = time.Now().Add(renewalTime)
	if errors.Is(known.err, oidc.ErrUnreachable) || errors.Is(known.err, oidc.ErrClient) {
		known.until = time.Now() // so that it is tried again
	}
	close(known.done)
}

// room makes room for one more. The caller holds the lock.
func (r *renewals) room(now time.Time) bool {
	if r.closed {
		return false
	}
	if r.known == nil {
		r.known = map[[sha256.Size]byte]*renewal{}
	}
	if len(r.known) < mostRenewals && now.Sub(r.swept) < renewalTime {
		return true
	}
	r.swept = now
	for of, known := range r.known {
		if !known.until.IsZero() && now.After(known.until) {
			delete(r.known, of)
		}
	}
	return len(r.known) < mostRenewals
}

// close waits for what is running.
func (r *renewals) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}
