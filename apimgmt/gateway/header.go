package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// prepare makes the request to the service of the one that came.
func (x *Exchange) prepare() {
	r := x.request
	x.upstream = Upstream{
		Method: r.Method, Path: x.servicePath(), Query: r.URL.RawQuery,
		Header: x.spare(), Body: r.Body, Length: r.ContentLength,
	}
	if r.ContentLength != 0 && r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
		x.clientBody = &clientBody{reader: r.Body, length: r.ContentLength}
		x.upstream.Body = x.clientBody
	}
	for name, values := range r.Header {
		if !hopByHop(name) {
			x.upstream.Header[name] = values
		}
	}
	removeNamed(x.upstream.Header, r.Header["Connection"])
	removeLookalikes(x.upstream.Header)
	if te := r.Header["Te"]; len(te) > 0 && listed(te, "trailers") {
		x.upstream.Header["Te"] = []string{"trailers"}
	}
	// Nothing but WebSockets: over h2c requests would reach the service that pass no
	// plugin.
	if protocol := requestedUpgrade(r.Header); strings.EqualFold(protocol, "websocket") && r.ProtoMajor == 1 &&
		r.Method == http.MethodGet && r.ContentLength == 0 {
		x.upstream.Header["Connection"] = []string{"Upgrade"}
		x.upstream.Header["Upgrade"] = []string{protocol}
	}
	if x.route.preserveHost {
		x.upstream.Host = r.Host
	}
}

// setForwarded sets the fields about the client's side.
func (x *Exchange) setForwarded() {
	r, h := x.request, x.upstream.Header
	backing := make([]string, 0, 8)
	one := func(value string) []string {
		backing = append(backing, value)
		n := len(backing)
		return backing[n-1 : n : n]
	}
	if before := r.Header["X-Forwarded-For"]; len(before) > 0 {
		h["X-Forwarded-For"] = one(strings.Join(before, ", ") + ", " + x.remote)
	} else {
		h["X-Forwarded-For"] = one(x.remote)
	}
	real := x.remote
	if x.fromProxy {
		real = x.client.String()
	}
	h["X-Real-Ip"] = one(real)
	keep := func(name, value string) {
		if x.fromProxy && r.Header.Get(name) != "" {
			return
		}
		if value == "" {
			delete(h, name)
			return
		}
		h[name] = one(value)
	}
	keep("X-Forwarded-Proto", x.scheme)
	keep("X-Forwarded-Host", x.host)
	keep("X-Forwarded-Port", strconv.Itoa(x.port))
	keep("X-Forwarded-Path", escapedPath(r))
	prefix := ""
	if x.route.strip && x.match.Matched != "/" {
		prefix = router.Escape(x.match.Matched)
	}
	keep("X-Forwarded-Prefix", prefix)
	if before := r.Header["Via"]; len(before) > 0 {
		h["Via"] = one(strings.Join(before, ", ") + ", " + viaVersion(r.ProtoMajor, r.ProtoMinor) + x.gateway.options.Name)
	} else {
		h["Via"] = x.gateway.via(r.ProtoMajor, r.ProtoMinor)
	}
	h["X-Kong-Request-Id"] = one(x.id)
}

// spare is an empty header that an exchange before had, or a new one.
func (x *Exchange) spare() http.Header {
	if h := x.spareHeader; h != nil {
		return h
	}
	return make(http.Header, 24)
}

// via is the Via field of a message of a version that has passed nothing else.
func (g *Gateway) via(major, minor int) []string {
	switch {
	case major == 1 && minor == 1:
		return g.via11
	case major == 2:
		return g.via2
	}
	return []string{viaVersion(major, minor) + g.options.Name}
}

func viaVersion(major, minor int) string {
	if major == 2 {
		return "2 "
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor) + " "
}

// servicePath joins the paths of service and request, as the route says.
func (x *Exchange) servicePath() string {
	path, base := x.path, "/"
	if x.route.service != nil {
		base = x.route.service.path
	}
	rest := path
	if x.route.strip {
		rest = strings.TrimPrefix(path, x.match.Matched)
		if x.match.Matched == "/" && rest == path {
			rest = ""
		}
	}
	if x.route.pathV1 {
		return router.Escape(joinV1(base, rest))
	}
	return router.Escape(joinV0(base, path, rest, x.route.strip))
}

// joinV0 joins with one slash in between; what remains of the path counts as a
// segment of its own.
func joinV0(base, path, rest string, strip bool) string {
	if !strip {
		if path == "/" && !strings.HasSuffix(base, "/") {
			return base
		}
		return strings.TrimSuffix(base, "/") + path
	}
	rest = strings.TrimPrefix(rest, "/")
	switch slash := strings.HasSuffix(base, "/"); {
	case rest != "":
		return strings.TrimSuffix(base, "/") + "/" + rest
	case base == "/":
		return "/"
	case slash && strings.HasSuffix(path, "/"):
		return base
	case slash:
		return strings.TrimSuffix(base, "/")
	case len(path) > 1 && strings.HasSuffix(path, "/"):
		return base + "/"
	}
	return base
}

// joinV1 puts one after the other; only a double slash becomes one.
func joinV1(base, rest string) string {
	if strings.HasSuffix(base, "/") {
		rest = strings.TrimPrefix(rest, "/")
	}
	joined := base + rest
	if joined == "" || joined[0] != '/' {
		return "/" + joined
	}
	return joined
}

// hopByHop reports whether a field concerns one connection only (RFC 9110, 7.6.1).
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy", "Http2-Settings":
		return true
	}
	return false
}

// removeNamed deletes the fields that Connection names.
func removeNamed(header http.Header, connection []string) {
	for _, list := range connection {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				delete(header, http.CanonicalHeaderKey(name))
			}
		}
	}
}

// removeLookalikes deletes fields that servers which hand fields on as variables
// (RFC 3875, section 4.1.18) take for those that the gateway sets, as they make one
// name of X_Real_Ip and X-Real-Ip.
func removeLookalikes(header http.Header) {
	for name := range header {
		if name[0]|0x20 != 'x' || !strings.ContainsAny(name, "_.") {
			continue
		}
		folded := http.CanonicalHeaderKey(strings.NewReplacer("_", "-", ".", "-").Replace(name))
		if folded == "X-Real-Ip" || strings.HasPrefix(folded, "X-Forwarded-") || strings.HasPrefix(folded, "X-Kong-") {
			delete(header, name)
		}
	}
}

// listed reports whether a list of tokens has one of them.
func listed(lists []string, token string) bool {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(name), token) {
				return true
			}
		}
	}
	return false
}

// requestedUpgrade returns the protocol that a message switches to; empty if none.
func requestedUpgrade(header http.Header) string {
	if len(header["Upgrade"]) != 1 || !listed(header["Connection"], "upgrade") {
		return ""
	}
	protocol := header["Upgrade"][0]
	for i := range len(protocol) {
		if protocol[i] <= ' ' || protocol[i] > '~' {
			return ""
		}
	}
	return protocol
}
