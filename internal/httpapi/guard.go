package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Origins says which web pages may have a browser send the requests of a route.
// Programs, whose requests have neither an Origin nor a Sec-Fetch-Site header
// field, may send all of them.
type Origins int

const (
	// AnyReads lets pages of every origin send the safe methods GET, HEAD and
	// OPTIONS, and pages of the server all others. Only a page of a trusted origin
	// can read the answer, see [Options.Hosts]. This is the default.
	AnyReads Origins = iota
	// OwnPages lets pages of the server alone send requests, whatever the
	// method. It is for routes whose GET changes something.
	OwnPages
	// OwnPagesAndLinks is OwnPages, except that a link elsewhere may lead to the
	// route.
	OwnPagesAndLinks
	// AnyPages lets pages of every origin send all requests. It is for routes
	// that are meant for other origins, or that have a check of their own.
	AnyPages
)

// guard refuses what a web page elsewhere has a browser send: requests that
// change something (cross-site request forgery), and requests under a name that
// its owner has pointed to this machine (DNS rebinding).
type guard struct {
	hosts   map[string]bool             // names besides localhost, in lower case
	origins map[string]bool             // of pages elsewhere that may send requests
	cross   *http.CrossOriginProtection // trusts the same
}

// newGuard returns the guard of a server that has further names, see
// [Options.Hosts]. A name that is none matches no request.
func newGuard(names []string) *guard {
	g := &guard{hosts: map[string]bool{}, origins: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	for _, name := range names {
		host, origin, err := ParseHost(name)
		if err != nil {
			continue
		}
		g.hosts[host] = true
		if origin != "" {
			g.origins[origin] = true
			_ = g.cross.AddTrustedOrigin(origin) // fails for what ParseHost refuses
		}
	}
	return g
}

// ParseHost reads a value of [Options.Hosts]: the name of a host, or the origin of
// a page, whose host counts as a name too. Origin is empty for a name.
func ParseHost(text string) (host, origin string, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	host = text
	if strings.Contains(text, "://") {
		at, err := url.Parse(strings.TrimSuffix(text, "/"))
		if err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Scheme+"://"+at.Host != at.String() {
			return "", "", fmt.Errorf("%q is no origin: expected http://HOST, https://HOST, or one of them with :PORT", text)
		}
		if at.Port() == defaultPort(at.Scheme) { // browsers leave it out of Origin
			at.Host = strings.TrimSuffix(at.Host, ":"+at.Port())
		}
		host, origin = at.Hostname(), at.String()
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || strings.ContainsAny(host, " /@?#*\"'\\") || (origin == "" && strings.Contains(host, ":")) {
		return "", "", fmt.Errorf("%q is no name of a host: expected one without a port, such as models.example.org", text)
	}
	return host, origin, nil
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// Hostname returns the host that a request names, without port, brackets and final
// dot, in lower case.
func Hostname(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// checkHost refuses a request over a loopback connection whose Host header field
// names another host. A page on the other end of a rebound name has the browser
// send just that. Over other connections any name is right, for the server does not
// know by which names a network or a reverse proxy reaches it.
func (g *guard) checkHost(r *http.Request) *Error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !isLoopback(local) {
		return nil
	}
	host := Hostname(r)
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || g.hosts[host] {
		return nil
	}
	return &Error{Status: http.StatusMisdirectedRequest, Detail: fmt.Sprintf("The Host %q is not known as a name of this server. "+
		"Use its IP address or localhost; or, if this machine has this name or a reverse proxy on it forwards the name, "+
		"start the server with -hosts %s (in a program: the option Hosts of the handler).", host, host)}
}

func isLoopback(address net.Addr) bool {
	at, err := netip.ParseAddrPort(address.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// checkOrigin refuses a request that a page has a browser send which may not.
func (g *guard) checkOrigin(r *http.Request, allowed Origins) *Error {
	var err error
	switch allowed {
	case AnyPages:
	case AnyReads:
		err = g.cross.Check(r)
	case OwnPages:
		err = g.checkAnyMethod(r)
		if err == nil && g.isReferredElsewhere(r) {
			err = errors.New("cross-origin request detected from the Referer header field")
		}
	case OwnPagesAndLinks:
		if !isLink(r) {
			err = g.checkAnyMethod(r)
		}
	}
	if err == nil {
		return nil
	}
	page := "A page of another origin"
	if origin := r.Header.Get("Origin"); origin != "" {
		page = fmt.Sprintf("A page of another origin (%.100q)", origin)
	}
	return &Error{Status: http.StatusForbidden, Err: err, Detail: page + " has sent this request, and may not. " +
		"Send it from a page of this server or from a program; or, to trust pages of an origin, " +
		"start the server with -hosts ORIGIN, such as -hosts https://app.example.org (in a program: the option Hosts of the handler)."}
}

// checkAnyMethod checks a request as if its method were not safe.
func (g *guard) checkAnyMethod(r *http.Request) error {
	unsafe := *r
	unsafe.Method = http.MethodPost
	return g.cross.Check(&unsafe)
}

// isReferredElsewhere reports whether a browser that sends no other sign, as none
// does with a GET over HTTP without TLS to another machine, says that a page
// elsewhere has sent a request.
func (g *guard) isReferredElsewhere(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" || r.Header.Get("Referer") == "" {
		return false
	}
	page, err := url.Parse(r.Header.Get("Referer"))
	return err != nil || (page.Host != r.Host && !g.origins[page.Scheme+"://"+page.Host])
}

// isLink reports whether a browser opens a page that a link, or an address that a
// person has entered, leads to (Fetch Metadata, sections 2.1 and 2.2).
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
