package entity

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// path checks a plain path: absolute, of the characters of RFC 3986, without empty
// segments and steps upwards.
func (s subject) path(field, p string) {
	switch {
	case len(p) > maxText:
		s.failf(field, "has %d bytes, more than %d", len(p), maxText)
	case !strings.HasPrefix(p, "/"):
		s.failf(field, "%q should start with \"/\"", p)
	case strings.Contains(p, "//"):
		s.failf(field, "%q has an empty segment", p)
	case !plainPath.MatchString(p):
		s.failf(field, "%q has characters that paths do not have (RFC 3986, section 3.3)", p)
	case !decodable(p):
		s.failf(field, "%q has a \"%%\" without two hexadecimal digits", p)
	case path.Clean(p) != p && path.Clean(p)+"/" != p:
		s.failf(field, "%q is not normal, %q is", p, path.Clean(p))
	}
}

// plainPath has what may stand in a path: unreserved and reserved characters,
// those of queries and fragments excepted.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$`)

func decodable(p string) bool {
	_, err := url.PathUnescape(p)
	return err == nil
}

// routePath checks a path of a route, which may be a regular expression.
func (s subject) routePath(field, p string) {
	expression, isRegex := strings.CutPrefix(p, "~")
	if !isRegex {
		if !strings.HasPrefix(p, "/") {
			s.failf(field, "%q should start with \"/\" (a prefix) or \"~/\" (a regular expression)", p)
			return
		}
		s.path(field, p)
		return
	}
	switch {
	case len(p) > maxText:
		s.failf(field, "has %d bytes, more than %d", len(p), maxText)
	case !strings.HasPrefix(expression, "/"):
		s.failf(field, "%q should start with \"/\" (a prefix) or \"~/\" (a regular expression)", p)
	default:
		if _, err := regexp.Compile(expression); err != nil {
			s.failf(field, "%q: %v", p, err)
		}
	}
}

// modernPath converts a path of a route of Kong 2, where any path that had more
// than plain characters was a regular expression, to the style of Kong 3.
func modernPath(p string) string {
	if strings.HasPrefix(p, "~") || oldPlain.MatchString(p) {
		return p
	}
	return "~" + p
}

var oldPlain = regexp.MustCompile(`^[a-zA-Z0-9._~/%-]*$`)

// label is one of a host name, with the underscores that containers have, and the
// tildes and lengths of upstreams that Kong's converter names.
var label = regexp.MustCompile(`^[A-Za-z0-9_~]([A-Za-z0-9_~-]*[A-Za-z0-9_~])?$`)

// validHost reports whether a text is a host name (RFC 1123) or an address.
func validHost(host string) bool {
	if isAddress(host) {
		return true
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 {
		return false
	}
	for part := range strings.SplitSeq(host, ".") {
		if !label.MatchString(part) {
			return false
		}
	}
	return true
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// validHostPort is validHost with an optional port.
func validHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return validHost(s)
	}
	return validHost(host) && validPort(port)
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// validPattern reports whether a text is a host of a route: its first or its last
// label may be a wildcard, and it may have a port.
func validPattern(pattern string) bool {
	if host, port, err := net.SplitHostPort(pattern); err == nil {
		if !validPort(port) {
			return false
		}
		pattern = host
	}
	first, isFirst := strings.CutPrefix(pattern, "*.")
	last, isLast := strings.CutSuffix(pattern, ".*")
	switch {
	case isFirst && isLast:
		return false
	case isFirst:
		return validHost(first)
	case isLast:
		return validHost(last)
	}
	return validHost(pattern)
}

// SetURL takes protocol, host, port and path from an address, as the shorthand
// "url" of services does. A port that is not there is that of the protocol.
func (s *Service) SetURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return &FieldError{Kind: KindService, ID: s.ID, Name: s.Name, Field: "url", Reason: "is not an address"}
	}
	port := 0
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil || !validPort(text) {
			return &FieldError{Kind: KindService, ID: s.ID, Name: s.Name, Field: "url", Reason: "the port is not between 1 and 65535"}
		}
	}
	switch {
	case u.Scheme == "" || u.Host == "":
		return &FieldError{Kind: KindService, ID: s.ID, Name: s.Name, Field: "url", Reason: "has no protocol or no host"}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return &FieldError{Kind: KindService, ID: s.ID, Name: s.Name, Field: "url", Reason: "has a user, a query or a fragment"}
	}
	s.Protocol = strings.ToLower(u.Scheme)
	s.Host = u.Hostname()
	s.Port = port
	s.Path = u.EscapedPath()
	return nil
}
