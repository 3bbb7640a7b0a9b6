package router

import (
	"cmp"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// rule is a route with one of its paths.
type rule struct {
	route    int
	pattern  *pattern // nil if the route has no paths
	priority uint64
	rank     int // in the order of all rules; the first is tried first

	methods map[string]struct{}
	hosts   []host
	headers []header
	snis    []string
}

// host is a name with a wildcard or not; port is zero for any.
type host struct {
	name string
	port int
}

// header is a field that must have one of the values, in lower case.
type header struct {
	name    string // canonical
	values  []string
	regexps []*regexp.Regexp
}

// compile creates rules of routes and puts them in order.
func compile(routes []entity.Route) ([]*rule, error) {
	var rules []*rule
	for i := range routes {
		route := &routes[i]
		base, err := newRule(i, route)
		if err != nil {
			return nil, fmt.Errorf("route %q: %w", routeName(route), err)
		}
		if len(route.Paths) == 0 {
			base.priority = priority(route, nil)
			rules = append(rules, &base)
			continue
		}
		for _, path := range route.Paths {
			text := path
			if !strings.HasPrefix(path, "~") {
				if !strings.HasPrefix(path, "/") {
					return nil, fmt.Errorf("route %q: paths: %q does not begin with \"/\" or \"~\"", routeName(route), path)
				}
				text = Normalize(path)
			}
			pattern, err := parsePattern(text)
			if err != nil {
				return nil, fmt.Errorf("route %q: paths: %w", routeName(route), err)
			}
			one := base
			one.pattern, one.priority = pattern, priority(route, pattern)
			rules = append(rules, &one)
		}
	}
	// Stable, so that the paths of one route stay in their order.
	slices.SortStableFunc(rules, func(a, b *rule) int {
		if a.priority != b.priority {
			return -cmp.Compare(a.priority, b.priority)
		}
		if a.route == b.route {
			return 0
		}
		return cmp.Or(
			cmp.Compare(routes[a.route].CreatedAt, routes[b.route].CreatedAt),
			cmp.Compare(routes[a.route].ID, routes[b.route].ID),
			cmp.Compare(a.route, b.route))
	})
	for i, r := range rules {
		r.rank = i
	}
	return rules, nil
}

func routeName(route *entity.Route) string { return cmp.Or(route.Name, route.ID) }

func newRule(index int, route *entity.Route) (rule, error) {
	r := rule{route: index}
	if len(route.Methods) > 0 {
		r.methods = make(map[string]struct{}, len(route.Methods))
		for _, m := range route.Methods {
			r.methods[strings.ToUpper(m)] = struct{}{}
		}
	}
	for _, text := range route.Hosts {
		h := host{name: strings.TrimSuffix(strings.ToLower(text), ".")}
		if name, port, found := strings.Cut(h.name, ":"); found && !strings.Contains(port, ":") {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil || n == 0 {
				return rule{}, fmt.Errorf("hosts: %q has no valid port", text)
			}
			h = host{name: name, port: int(n)}
		}
		if n := strings.Count(h.name, "*"); n > 1 || (n == 1 && !strings.HasPrefix(h.name, "*.") && !strings.HasSuffix(h.name, ".*")) {
			return rule{}, fmt.Errorf("hosts: %q: a wildcard is the first or the last label", text)
		}
		r.hosts = append(r.hosts, h)
	}
	for name, values := range route.Headers {
		h := header{name: textproto.CanonicalMIMEHeaderKey(name)}
		if h.name == "Host" {
			return rule{}, fmt.Errorf("headers: %q is matched with hosts", name)
		}
		for _, v := range values {
			expression, isRegexp := strings.CutPrefix(v, "~*")
			if !isRegexp {
				h.values = append(h.values, strings.ToLower(v))
				continue
			}
			compiled, err := compileExpression("(?i)" + expression)
			if err != nil {
				return rule{}, fmt.Errorf("headers.%s: %.200q: %w", name, v, err)
			}
			h.regexps = append(h.regexps, compiled)
		}
		r.headers = append(r.headers, h)
	}
	slices.SortFunc(r.headers, func(a, b header) int { return cmp.Compare(a.name, b.name) })
	for _, sni := range route.SNIs {
		r.snis = append(r.snis, strings.TrimSuffix(strings.ToLower(sni), "."))
	}
	return r, nil
}

// priority puts Kong's criteria into one number, the most important in the
// highest bits.
func priority(route *entity.Route, pattern *pattern) uint64 {
	var lists uint64
	for _, given := range []bool{
		len(route.Methods) > 0, len(route.Hosts) > 0, len(route.Headers) > 0, len(route.SNIs) > 0, pattern != nil,
	} {
		if given {
			lists++
		}
	}
	p := lists << 61
	if len(route.Hosts) > 0 && !slices.ContainsFunc(route.Hosts, func(h string) bool { return strings.Contains(h, "*") }) {
		p |= 1 << 60
	}
	p |= uint64(min(len(route.Headers), 255)) << 52
	switch {
	case pattern == nil:
	case pattern.regexp != nil || strings.HasPrefix(pattern.text, "~"):
		p |= 1<<51 | min(uint64(max(route.RegexPriority, 0)), 1<<32-1)<<19
	default:
		p |= uint64(min(len(pattern.literal), 1<<19-1))
	}
	return p
}

// accepts reports whether a request meets the conditions of a rule besides host and path.
func (r *rule) accepts(request *Request) bool {
	if r.methods != nil {
		if _, ok := r.methods[request.Method]; !ok {
			return false
		}
	}
	for i := range r.headers {
		if !r.headers[i].accepts(request.Header) {
			return false
		}
	}
	return len(r.snis) == 0 || !request.TLS || r.acceptsServerName(request.ServerName)
}

func (r *rule) acceptsServerName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	return slices.ContainsFunc(r.snis, func(sni string) bool {
		if suffix, ok := strings.CutPrefix(sni, "*"); ok {
			return strings.HasSuffix(name, suffix)
		}
		if prefix, ok := strings.CutSuffix(sni, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == sni
	})
}

func (h *header) accepts(fields map[string][]string) bool {
	for _, value := range fields[h.name] {
		for _, want := range h.values {
			if len(want) == len(value) && strings.EqualFold(want, value) {
				return true
			}
		}
		for _, want := range h.regexps {
			if want.MatchString(value) {
				return true
			}
		}
	}
	return false
}
