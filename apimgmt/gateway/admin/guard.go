package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// guard decides which requests are answered.
//
// With a token, each request has to show it, unless Config.Authorize accepts the caller.
// Without one, and without Config.Authorize, only this machine is answered: the connection
// has a loopback address at both ends, no proxy has forwarded the request, and the Host
// header field has no address of another machine. Whatever the token, rebound names and
// what a page of another origin has a browser send are refused before, see the package
// httpapi.
type guard struct {
	token    [sha256.Size]byte
	hasToken bool
	// other decides on callers that do not show the token. Nil refuses them.
	other    func(r *http.Request, role string) error
	attempts *access.Attempts
	logger   *slog.Logger
}

func newGuard(token string, other func(r *http.Request, role string) error, logger *slog.Logger) *guard {
	return &guard{token: sha256.Sum256([]byte(token)), hasToken: token != "", other: other,
		attempts: access.NewAttempts(), logger: logger}
}

// tokenHeader is where a client may have the token; the other place is a bearer token
// in Authorization.
const tokenHeader = "Kong-Admin-Token"

// shown is the token of a request; empty if it has none.
func shown(r *http.Request) string {
	if token := r.Header.Get(tokenHeader); token != "" {
		return token
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// knows reports whether a token is valid. The time that it takes says nothing
// about the token.
func (g *guard) knows(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return g.hasToken && token != "" && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// authorize decides on a request to the API.
func (g *guard) authorize(r *http.Request, role string) error {
	switch {
	case g.hasToken && shown(r) != "":
		return g.authorizeToken(r, role)
	case g.hasToken || g.other != nil:
		return g.without(r, role)
	}
	var p *problem
	if err := g.thisMachine(r); errors.As(err, &p) {
		return &httpapi.Error{Status: p.status, Detail: p.Message, Err: p}
	}
	return nil
}

// authorizeToken decides on a request that shows a token. An address with too many wrong
// ones waits, unless it has shown the right one lately; what g.other accepts goes on.
func (g *guard) authorizeToken(r *http.Request, role string) error {
	token := shown(r)
	wait := g.attempts.Wait(r.RemoteAddr, token)
	if wait <= 0 && g.knows(token) {
		g.attempts.Succeeded(r.RemoteAddr, token)
		return nil
	}
	err := g.without(r, role)
	if err == nil || isKnown(err) {
		return err
	}
	if wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		return &httpapi.Error{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}},
			Detail: "Too many wrong tokens from this address. Try again in " + seconds + " s"}
	}
	g.attempts.Failed(r.RemoteAddr)
	g.logger.Warn("a token at the gateway's admin API is wrong", "address", r.RemoteAddr)
	return err
}

// without decides on a request that does not show the token.
func (g *guard) without(r *http.Request, role string) error {
	if g.other != nil {
		return g.other(asBearer(r), role)
	}
	return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "Unauthorized",
		Header: http.Header{"Www-Authenticate": {`Bearer realm="gateway admin"`}}}
}

// isKnown reports whether g.other has refused a caller for its role, and not for its
// token: the error has the status 403.
func isKnown(err error) bool {
	var status interface{ HTTPStatus() int }
	return errors.As(err, &status) && status.HTTPStatus() == http.StatusForbidden
}

// asBearer returns the request with the token of Kong's header field as a bearer token.
func asBearer(r *http.Request) *http.Request {
	token := r.Header.Get(tokenHeader)
	if token == "" {
		return r
	}
	changed := r.WithContext(r.Context())
	changed.Header = r.Header.Clone()
	changed.Header.Set("Authorization", "Bearer "+token)
	return changed
}

// page protects a page of the account: without a token it is for this machine. The login
// session decides on access.
func (g *guard) page(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !g.hasToken {
			if err := g.thisMachine(r); err != nil {
				return err
			}
		}
		return f(w, r)
	}
}

func forbidden(message string) error {
	return &problem{status: http.StatusForbidden, Message: message}
}

// thisMachine refuses what does not come from this machine.
func (g *guard) thisMachine(r *http.Request) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !isLoopback(local.String()) || !isLoopback(r.RemoteAddr) {
		return forbidden("The admin API has no token set, and is then for this machine only")
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return forbidden("The admin API has no token set, and is then not to be had through a proxy")
		}
	}
	if address, err := netip.ParseAddr(httpapi.Hostname(r)); err == nil && !address.Unmap().IsLoopback() {
		return forbidden("The Host header field has the address of another machine")
	}
	return nil
}

func isLoopback(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}
