package router

import (
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Request has the parts of a request that decide about its route.
type Request struct {
	// Method is in upper case.
	Method string
	// Path is the path as [Normalize] returns it.
	Path string
	// Host is the host in lower case, without port and without a dot at the end.
	Host string
	// Port is the port that the client has named, or the default one of the scheme.
	Port int
	// TLS reports whether the request came over TLS, to ServerName if the client said it.
	TLS        bool
	ServerName string
	// Header holds the header fields under their canonical names.
	Header map[string][]string
}

// Match is a route that was found.
type Match struct {
	// Route is the index of the route in what New was given.
	Route int
	// Matched is the part of the path that the route's path has matched: a prefix,
	// or the match of its expression. It is empty if the route has no paths.
	Matched string

	pattern *pattern
}

// Captures returns the groups of the expression that matched, by name, or nil if
// there is none. The map is the caller's.
func (m Match) Captures(path string) map[string]string {
	if m.pattern == nil || m.pattern.regexp == nil {
		return nil
	}
	expression := m.pattern.regexp()
	found := expression.FindStringSubmatch(path)
	if len(found) < 2 {
		return nil
	}
	captures := make(map[string]string, len(found)-1)
	for i, name := range expression.SubexpNames() {
		if name != "" && i < len(found) {
			captures[name] = found[i]
		}
	}
	return captures
}

// Capture returns one group of the expression that matched; it is empty if there is no
// such group.
func (m Match) Capture(path, name string) string {
	if m.pattern != nil && m.pattern.rest == name && name != "" {
		return path[m.pattern.restAt:]
	}
	return m.Captures(path)[name]
}

// Router finds routes. It does not change; any number of goroutines may use it.
type Router struct {
	exact    map[string]*paths // by host
	suffixes map[string]*paths // of hosts "*.example.com": ".example.com"
	prefixes map[string]*paths // of hosts "example.*": "example."
	any      *paths            // of routes without hosts

	rules []*rule // from the first rank to the last
}

// New compiles routes. The error names the route and the field that is wrong.
func New(routes []entity.Route) (*Router, error) {
	rules, err := compile(routes)
	if err != nil {
		return nil, err
	}
	r := &Router{
		exact: map[string]*paths{}, suffixes: map[string]*paths{}, prefixes: map[string]*paths{},
		any: newPaths(), rules: rules,
	}
	for _, rule := range rules {
		if len(rule.hosts) == 0 {
			r.any.add(rule, 0)
			continue
		}
		for _, host := range rule.hosts {
			switch {
			case strings.HasPrefix(host.name, "*"):
				at(r.suffixes, host.name[1:]).add(rule, host.port)
			case strings.HasSuffix(host.name, "*"):
				at(r.prefixes, host.name[:len(host.name)-1]).add(rule, host.port)
			default:
				at(r.exact, host.name).add(rule, host.port)
			}
		}
	}
	return r, nil
}

func at(index map[string]*paths, key string) *paths {
	if index[key] == nil {
		index[key] = newPaths()
	}
	return index[key]
}

// Find returns the route of a request; ok is false if none exists.
func (r *Router) Find(request *Request) (match Match, ok bool) {
	s := search{request: request, best: len(r.rules)}
	if p := r.exact[request.Host]; p != nil {
		p.find(&s)
	}
	if len(r.suffixes) > 0 {
		r.findSuffix(&s, request.Host)
	}
	if len(r.prefixes) > 0 {
		r.findPrefix(&s, request.Host)
	}
	r.any.find(&s)
	if s.best == len(r.rules) {
		return Match{}, false
	}
	found := r.rules[s.best]
	return Match{Route: found.route, Matched: s.matched, pattern: found.pattern}, true
}

func (r *Router) findSuffix(s *search, host string) {
	for i := range len(host) {
		if host[i] == '.' {
			if p := r.suffixes[host[i:]]; p != nil {
				p.find(s)
			}
		}
	}
}

func (r *Router) findPrefix(s *search, host string) {
	for i := range len(host) {
		if host[i] == '.' {
			if p := r.prefixes[host[:i+1]]; p != nil {
				p.find(s)
			}
		}
	}
}

// search is the state of one Find.
type search struct {
	request *Request
	best    int    // the rank of the best rule so far
	matched string // the part of the path that it has matched
}

// try takes the best of the rules at one place, all of whose paths match.
func (s *search) try(entries []entry, matched string) {
	for i := range entries {
		e := &entries[i]
		if e.rule.rank >= s.best {
			return
		}
		if (e.port != 0 && e.port != s.request.Port) || !e.rule.accepts(s.request) {
			continue
		}
		part := matched
		if e.rule.pattern != nil && e.rule.pattern.kind == kindRegexp {
			var ok bool
			if part, ok = e.rule.pattern.matched(s.request.Path); !ok {
				continue
			}
		}
		s.best, s.matched = e.rule.rank, part
		return
	}
}
