package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// maxPasses is how often a request may have passed gateways of one name.
const maxPasses = 8

// loops reports whether a request has passed here so often that it goes in a
// circle: a service may be the gateway itself.
func (g *Gateway) loops(via []string) bool {
	passes := 0
	for _, list := range via {
		for hop := range strings.SplitSeq(list, ",") {
			if _, by, _ := strings.Cut(strings.TrimSpace(hop), " "); by == g.options.Name {
				passes++
			}
		}
	}
	return passes >= maxPasses
}

// maxHost is the greatest length of a host name (RFC 1035, 2.3.4), and a zone of an address.
const maxHost = 255

// isHost reports whether a text may be the host of a request, without its port. It
// is created from what host names and addresses have.
func isHost(host string) bool {
	if len(host) > maxHost {
		return false
	}
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80, strings.IndexByte("-._~[]:%!$&'()*+,;=", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// evades reports whether a service may read the request as one for another route,
// where it would have passed other plugins: because it decodes slashes, reads
// parameters in paths, or takes the method from a field.
func (x *Exchange) evades(request router.Request, readings []string) bool {
	methods := requestMethods(x.request)
	if len(readings) == 0 && len(methods) == 0 {
		return false
	}
	methods, readings = append(methods, request.Method), append(readings, request.Path)
	for _, request.Method = range methods {
		for _, request.Path = range readings {
			match, found := x.table.router.Find(&request)
			if found && !x.table.routes[match.Route].chains.same(&x.route.chains) {
				return true
			}
		}
	}
	return false
}

// requestMethods are the methods that a service may take a request for, besides its own.
func requestMethods(r *http.Request) []string {
	var methods []string
	if upper := strings.ToUpper(r.Method); upper != r.Method {
		methods = append(methods, upper)
	}
	for _, name := range [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		for _, value := range r.Header[name] {
			methods = append(methods, strings.ToUpper(strings.TrimSpace(value)))
		}
	}
	return methods
}

// same reports whether requests pass the same plugins.
func (c *chains) same(other *chains) bool {
	equal := func(a, b step) bool { return a.base == b.base && maps.Equal(a.consumers, b.consumers) }
	return slices.EqualFunc(c.plain, other.plain, equal) && slices.EqualFunc(c.secure, other.secure, equal)
}
