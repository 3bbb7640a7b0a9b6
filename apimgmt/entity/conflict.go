package entity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Conflict is two routes that match the same requests, none before the other.
type Conflict struct {
	// Route and Other are their names, or their ids where they have none.
	Route, Other string
	// Path is the path of Route that Other has too.
	Path string
}

// String describes the conflict in a sentence.
func (c Conflict) String() string {
	return fmt.Sprintf("route %q and route %q both match %q", c.Route, c.Other, c.Path)
}

// Conflicts lists the routes of one configuration that match the same requests as
// routes of another one: those of a new API against those of all others. Each pair
// is reported once.
//
// Two routes are in conflict if they share a protocol (http and https count as
// one, as do ws and wss, grpc and grpcs), a method, a host and a server name, with
// an empty list sharing only an empty one except for methods; demand the same
// headers; and have a path in common. Paths are common if they are the same text
// once every group of a regular expression, named or not, stands for "a
// parameter": /things/(?<id>[^/]+)$ and /things/(?<key>[0-9]+)$ are. A prefix
// and a regular expression, a longer and a shorter prefix, or two expressions that
// are written in different ways, are not compared further: for these the order of
// Kong's router decides, and the longer or the more specific route is the one
// that its author meant. Routes without paths are in conflict only with each
// other.
func Conflicts(c, others Config) []Conflict { return NewRouteIndex(c).Conflicts(NewRouteIndex(others)) }

// RouteIndex has the routes of a configuration by what their paths match, so that
// they can be compared with many others. It does not change, and any number of
// goroutines may use it; the configuration that it was created from must not be changed
// either.
type RouteIndex struct {
	routes []indexedRoute
	byPath map[string][]*Route
}

// indexedRoute is a route with the keys of its paths.
type indexedRoute struct {
	route       *Route
	paths, keys []string
}

// NewRouteIndex returns the index of a configuration.
func NewRouteIndex(c Config) *RouteIndex {
	made := &RouteIndex{byPath: map[string][]*Route{}}
	for i := range c.Routes {
		r := indexedRoute{route: &c.Routes[i], paths: routePaths(&c.Routes[i])}
		for _, path := range r.paths {
			key := pathKey(path)
			r.keys = append(r.keys, key)
			made.byPath[key] = append(made.byPath[key], r.route)
		}
		made.routes = append(made.routes, r)
	}
	return made
}

// Conflicts is the function [Conflicts] of the two configurations.
func (x *RouteIndex) Conflicts(others *RouteIndex) []Conflict {
	var found []Conflict
	for _, r := range x.routes {
		var reported []*Route
		for i, key := range r.keys {
			for _, other := range others.byPath[key] {
				if !slices.Contains(reported, other) && sameRequests(r.route, other) {
					reported = append(reported, other)
					found = append(found, Conflict{Route: r.route.label(), Other: other.label(), Path: r.paths[i]})
				}
			}
		}
	}
	return found
}

func (r *Route) label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID
}

// routePaths are the paths of a route; one without paths has the empty one.
func routePaths(r *Route) []string {
	if len(r.Paths) == 0 {
		return []string{""}
	}
	return r.Paths
}

// group is a group of a regular expression without others in it.
var group = regexp.MustCompile(`\((?:\?P?<[A-Za-z0-9_]+>|\?:)?(?:[^()\[\]\\]|\\.|\[(?:\\.|[^\]\\])*\])*\)`)

// pathKey is a path in which parameters have no names, and the rest of a path is not
// grouped.
func pathKey(path string) string {
	if !strings.HasPrefix(path, "~") {
		return path
	}
	path, _, _ = CutRest(path)
	return strings.ReplaceAll(group.ReplaceAllLiteralString(path, "{}"), `\/`, "/")
}

func sameRequests(a, b *Route) bool {
	if !overlap(families(a.Protocols), families(b.Protocols)) {
		return false
	}
	if len(a.Methods) > 0 && len(b.Methods) > 0 && !overlap(a.Methods, b.Methods) {
		return false
	}
	if !bothEmptyOrOverlap(lowered(a.Hosts), lowered(b.Hosts)) || !bothEmptyOrOverlap(lowered(a.SNIs), lowered(b.SNIs)) {
		return false
	}
	return sameHeaders(a.Headers, b.Headers)
}

func bothEmptyOrOverlap(a, b []string) bool {
	return (len(a) == 0 && len(b) == 0) || overlap(a, b)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func lowered(list []string) []string {
	made := make([]string, len(list))
	for i, s := range list {
		made[i] = strings.ToLower(s)
	}
	return made
}

// families are protocols without whether they are over TLS; none means http.
func families(protocols []string) []string {
	if len(protocols) == 0 {
		return []string{"http"}
	}
	made := make([]string, len(protocols))
	for i, p := range protocols {
		made[i] = strings.TrimSuffix(p, "s")
	}
	return made
}

func sameHeaders(a, b map[string][]string) bool {
	x, y := Route{Headers: a}, Route{Headers: b}
	x = x.clone()
	y = y.clone()
	x.fill()
	y.fill()
	if len(x.Headers) != len(y.Headers) {
		return false
	}
	for name, values := range x.Headers {
		if !overlap(values, y.Headers[name]) {
			return false
		}
	}
	return true
}

// rest is the beginning of a group that holds a path from a slash on.
var rest = regexp.MustCompile(`\((?:\?P?<([A-Za-z0-9_]+)>)?/`)

// CutRest takes apart a regular expression whose last part is in a group of its own,
// such as ~/prefix(?<rest>/things/(?<id>[^/]+))$, which matches the same as
// ~/prefix/things/(?<id>[^/]+)$: it returns the expression without the group, what
// stands before the group, and the group's name. Of any other it returns the
// expression alone.
func CutRest(expression string) (plain, before, name string) {
	at := rest.FindStringSubmatchIndex(expression)
	inner, anchored := strings.CutSuffix(expression, ")$")
	if at == nil || !anchored || at[1] > len(inner) {
		return expression, "", ""
	}
	before, after := expression[:at[0]], inner[at[1]-1:]
	if strings.ContainsAny(before, "()[]") || strings.HasSuffix(before, `\`) || strings.ContainsRune(after, '|') || !balanced(after) {
		return expression, "", ""
	}
	if at[2] >= 0 {
		name = expression[at[2]:at[3]]
	}
	return before + after + "$", before, name
}

// balanced reports whether every group of an expression that begins in it ends in it,
// and none else does.
func balanced(expression string) bool {
	depth, class := 0, false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\':
			i++
			if i == len(expression) {
				return false
			}
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0 && !class
}
