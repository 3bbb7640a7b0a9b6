package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// guard decides which requests are answered.
//
// With a token, each request has to show it. Without one only this machine is
// answered: the connection has a loopback address at both ends, no proxy has
// forwarded the request, and the Host header field has no address of another machine.
// Whatever the token, rebound names and what a page of another origin has a browser
// send are refused before, see the package httpapi.
type guard struct {
	token    [sha256.Size]byte
	hasToken bool
}

func newGuard(token string) *guard {
	return &guard{token: sha256.Sum256([]byte(token)), hasToken: token != ""}
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

// api protects a route of the API.
func (g *guard) api(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if g.hasToken {
			if !g.knows(shown(r)) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="gateway admin"`)
				return &problem{status: http.StatusUnauthorized, Message: "Unauthorized"}
			}
			return f(w, r)
		}
		if err := g.thisMachine(r); err != nil {
			return err
		}
		return f(w, r)
	}
}

// page protects a page. The login session decides on access.
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

// equal compares two secrets in a time that says nothing about them.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
