package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Config configures a [Door].
type Config struct {
	// Name is the name of the server, for the realm of RFC 6750 and the cookie. It is
	// required.
	Name string
	// Open lets every caller do everything, except in parts of the server that have the door
	// of [Door.Closed].
	Open bool
	// Tokens are the tokens that are accepted. Nil means none.
	Tokens []*TokenFile
	// Self has a token of this process, for its requests to its own listeners. Refusals and
	// the sign-in page do not count it as a method of authentication. Nil means none.
	Self *TokenFile
	// Verifier accepts other tokens. Nil means none.
	Verifier Verifier
	// Certificates accepts client certificates that the listener has verified.
	Certificates bool
	// CertificateRole is the role of a certificate in which no organizational unit names
	// one. Empty means Reader.
	CertificateRole httpapi.Role
	// Hosts are those of [httpapi.Options], for the door's own pages.
	Hosts []string
	// Sessions keeps the sessions of browsers. Nil means that they end with the process.
	Sessions Sessions
	// Logger receives refused attempts, without credentials. Nil is silent.
	Logger *slog.Logger
}

// Door decides who sends a request and what the caller may do. It is created with [New] and
// safe for concurrent use.
type Door struct {
	config   Config
	attempts *Attempts
	sessions Sessions
	signOn   *atomic.Pointer[signOn] // has nil without a provider
	counts   *counts
	// ownTokens says that programs do not show tokens of the provider; see Closed.
	ownTokens bool
}

// New returns a door.
func New(config Config) (*Door, error) {
	if config.Name == "" {
		return nil, errors.New("access: Config.Name: is required")
	}
	if !config.Open && len(config.Tokens) == 0 && config.Verifier == nil && !config.Certificates {
		return nil, errors.New("access: Config: no way to be let in: expected Open, Tokens, Verifier or Certificates")
	}
	if config.CertificateRole == "" {
		config.CertificateRole = httpapi.Reader
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Sessions == nil {
		config.Sessions = newMemory(time.Now)
	}
	return &Door{config: config, attempts: NewAttempts(), sessions: config.Sessions, signOn: &atomic.Pointer[signOn]{}, counts: &counts{}}, nil
}

// Closed returns the door of a part of the server that identifies its callers although d is
// open: programs by the token, people also by signing in at the provider. The two share the
// sign-in page, the sessions, the slowed guesses and the counts. Closed is called before a
// listener is served.
func (d *Door) Closed(token *TokenFile) *Door {
	d.config.Tokens = append(slices.Clone(d.config.Tokens), token)
	part := *d
	part.config.Open, part.config.Tokens, part.ownTokens = false, []*TokenFile{token}, true
	return &part
}

// Credentials are what a caller shows.
type Credentials struct {
	// Address is the other end of the connection, as host:port.
	Address string
	// Token is a bearer token. Empty means none.
	Token string
	// TLS is the state of the connection. Nil means that it has no TLS.
	TLS *tls.ConnectionState
}

// The reasons for which a caller is refused.
var (
	// ErrAnonymous reports that a caller shows nothing that the door accepts.
	ErrAnonymous = errors.New("access: no credentials")
	// ErrInvalid reports a token that is not valid.
	ErrInvalid = errors.New("access: the token is not valid")
)

// SlowedError reports that there were too many failed attempts from an address.
type SlowedError struct {
	// After is how long to wait before the next attempt.
	After time.Duration
}

// Error implements error.
func (e *SlowedError) Error() string {
	return fmt.Sprintf("access: too many failed attempts; try again in %v", e.After.Round(time.Second))
}

// RoleError reports a caller whose role is not enough.
type RoleError struct {
	// Caller is the caller.
	Caller Identity
	// Wanted is the role that is required.
	Wanted httpapi.Role
}

// Error implements error.
func (e *RoleError) Error() string {
	return fmt.Sprintf("the role %s is required, and %.100q has the role %s", e.Wanted, e.Caller.Name, e.Caller.Role)
}

// IsOpen reports whether the door lets every caller do everything.
func (d *Door) IsOpen() bool { return d.config.Open }

// Identify returns the identity of a caller. The error is ErrAnonymous, ErrInvalid,
// ErrUnavailable, a [*SlowedError], or that of the context.
func (d *Door) Identify(ctx context.Context, c Credentials) (Identity, error) {
	if c.Token != "" {
		return d.identifyToken(ctx, c)
	}
	if d.config.Certificates && c.TLS != nil && len(c.TLS.VerifiedChains) > 0 {
		return certified(c.TLS.VerifiedChains[0][0], d.config.CertificateRole), nil
	}
	return Identity{}, ErrAnonymous
}

func (d *Door) identifyToken(ctx context.Context, c Credentials) (Identity, error) {
	if wait := d.attempts.Wait(c.Address, c.Token); wait > 0 {
		return Identity{}, &SlowedError{wait}
	}
	identity, err := d.lookUp(ctx, c.Token)
	switch {
	case err == nil:
		d.attempts.Succeeded(c.Address, c.Token)
	case errors.Is(err, ErrInvalid):
		d.attempts.Failed(c.Address)
	}
	return identity, err
}

// lookUp returns the identity behind a token, whatever the address.
func (d *Door) lookUp(ctx context.Context, token string) (Identity, error) {
	sum := digestCredential(token)
	if identity, ok := d.config.Self.find(sum); ok {
		return identity, nil
	}
	for _, file := range d.config.Tokens {
		if identity, ok := file.find(sum); ok {
			return identity, nil
		}
	}
	var failures error
	for _, verifier := range d.verifiers() {
		identity, err := verifier.Identify(ctx, token)
		if err == nil {
			return identity, nil
		}
		failures = errors.Join(failures, err)
	}
	if errors.Is(failures, ErrUnavailable) || ctx.Err() != nil {
		return Identity{}, failures
	}
	return Identity{}, errors.Join(ErrInvalid, failures)
}

// verifiers returns what accepts other tokens than those of files: the Verifier, and the
// provider at which people sign in.
func (d *Door) verifiers() []Verifier {
	var all []Verifier
	if d.config.Verifier != nil {
		all = append(all, d.config.Verifier)
	}
	if on := d.signOn.Load(); on != nil && !d.ownTokens {
		all = append(all, on.provider)
	}
	return all
}

// Admit returns the identity of a caller that has the role, and counts. The error is that
// of Identify or a [*RoleError]. An open door admits every caller.
func (d *Door) Admit(ctx context.Context, c Credentials, role httpapi.Role) (Identity, error) {
	if d.config.Open {
		return Identity{Role: httpapi.Admin}, nil
	}
	identity, err := d.Identify(ctx, c)
	return identity, d.judge(identity, err, c.Address, role)
}

// judge returns the error of Admit for what Identify returned.
func (d *Door) judge(identity Identity, err error, address string, role httpapi.Role) error {
	if err == nil && !identity.Role.Includes(role) {
		err = &RoleError{identity, role}
	}
	outcome := classifyOutcome(err)
	d.counts.add(outcome)
	if outcome != granted && outcome != anonymous {
		d.config.Logger.Debug("access refused", "address", address, "outcome", outcome.String(), "error", err)
	}
	return err
}

// Authorizer returns the function for Authorize of a handler's options: nil for an open
// door.
func (d *Door) Authorizer() func(r *http.Request, role string) error {
	if d.config.Open {
		return nil
	}
	return d.Authorize
}

// Authorize returns nil if the caller that sends a request has the role, and otherwise an
// [*httpapi.Error]: status 401 without valid credentials, 403 for another role, 429 while
// the address is slowed down, 503 while a token cannot be checked. A browser that opens a
// page without being signed in is sent to the sign-in page. An open door authorizes every
// caller.
func (d *Door) Authorize(r *http.Request, role string) error {
	if d.config.Open {
		return nil
	}
	c := Credentials{Address: r.RemoteAddr, TLS: r.TLS}
	var identity Identity
	var err error
	if header := r.Header.Get("Authorization"); header != "" {
		c.Token = bearer(header)
		if c.Token == "" {
			c.TLS, err = nil, ErrAnonymous // another scheme, such as Basic
		}
	}
	if err == nil {
		identity, err = d.Identify(r.Context(), c)
	}
	if errors.Is(err, ErrAnonymous) {
		if person, none := d.signedIn(r); !errors.Is(none, ErrNoSession) {
			identity, err = person, none
		}
	}
	if err = d.judge(identity, err, r.RemoteAddr, httpapi.Role(role)); err == nil {
		return nil
	}
	if errors.Is(err, ErrAnonymous) && opensPage(r) {
		to := url.Values{"to": {r.RequestURI}} // of the whole server, where a mux has cut the path of the URL
		return &httpapi.Error{Status: http.StatusSeeOther, Header: http.Header{"Location": {signInPath + "?" + to.Encode()}}}
	}
	return d.Refusal(err)
}

// bearer returns the token of an Authorization header field, empty if it has another
// scheme.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// opensPage reports whether a browser opens a page with the request, rather than a program
// or a script that would not understand a form.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Authorization") == "" && httpapi.WantsPage(r)
}

// takesTokens reports whether callers can prove who they are with a token.
func (d *Door) takesTokens() bool { return len(d.config.Tokens) > 0 || d.config.Verifier != nil }

// proof says what a caller has to show, as a sentence.
func (d *Door) proof() string {
	const certificate = "client certificate of the authorities of -tls-client-ca"
	switch {
	case d.takesTokens() && d.config.Certificates:
		return "A token is required, as Authorization: Bearer TOKEN, or a " + certificate + "."
	case d.takesTokens():
		return "A token is required, as Authorization: Bearer TOKEN."
	}
	return "A " + certificate + " is required."
}

// Refusal returns what a client gets for an error of Identify or Admit. Its text is a sentence
// for the caller, and never has a credential.
func (d *Door) Refusal(err error) *httpapi.Error {
	challenge := func(rest string) http.Header {
		return http.Header{"Www-Authenticate": {fmt.Sprintf("Bearer realm=%q", d.config.Name) + rest}}
	}
	var slowed *SlowedError
	var role *RoleError
	var client *ClientError
	switch {
	case errors.As(err, &client):
		return client.refusal()
	case errors.As(err, &slowed):
		seconds := strconv.Itoa(max(1, int(math.Ceil(slowed.After.Seconds()))))
		return &httpapi.Error{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}},
			Detail: "There were too many failed attempts from this address. Try again in " + seconds + " s."}
	case errors.As(err, &role):
		return &httpapi.Error{Status: http.StatusForbidden,
			Header: challenge(fmt.Sprintf(`, error="insufficient_scope", scope=%q`, role.Wanted)),
			Detail: "Not allowed: " + role.Error() + "."}
	case errors.Is(err, ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"5"}},
			Detail: "The token cannot be checked now, because its issuer does not answer. Please try again."}
	case errors.Is(err, ErrInvalid):
		return &httpapi.Error{Status: http.StatusUnauthorized, Header: challenge(`, error="invalid_token"`),
			Detail: "The token is not valid."}
	case errors.Is(err, ErrAnonymous):
		return &httpapi.Error{Status: http.StatusUnauthorized, Header: challenge(""),
			Detail: d.proof()}
	}
	return &httpapi.Error{Status: http.StatusServiceUnavailable, Err: err}
}
