package router_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// literal finds a route by trying all of them, as the rules are written in the
// package's documentation.
func literal(routes []entity.Route, r *router.Request) (route int, matched string, ok bool) {
	type candidate struct {
		route, path int
		matched     string
		criteria    []int // the greater the better, the first first
	}
	var all []candidate
	for i, e := range routes {
		if (len(e.Methods) > 0 && !slices.Contains(e.Methods, r.Method)) || !matchesHost(e.Hosts, r) ||
			!matchesHeaders(e.Headers, r.Header) || (len(e.SNIs) > 0 && r.TLS && !slices.Contains(e.SNIs, r.ServerName)) {
			continue
		}
		lists, plain := 0, 0
		for _, n := range []int{len(e.Methods), len(e.Hosts), len(e.Headers), len(e.SNIs), len(e.Paths)} {
			lists += min(n, 1)
		}
		if len(e.Hosts) > 0 && !strings.Contains(strings.Join(e.Hosts, " "), "*") {
			plain = 1
		}
		if len(e.Paths) == 0 {
			all = append(all, candidate{i, 0, "", []int{lists, plain, len(e.Headers), 0, 0, 0}})
		}
		for n, path := range e.Paths {
			if expression, ok := strings.CutPrefix(path, "~"); ok {
				found := regexp.MustCompile("^(?:" + expression + ")").FindString(r.Path)
				if found != "" {
					all = append(all, candidate{i, n, found, []int{lists, plain, len(e.Headers), 1, e.RegexPriority, 0}})
				}
			} else if strings.HasPrefix(r.Path, path) {
				all = append(all, candidate{i, n, path, []int{lists, plain, len(e.Headers), 0, 0, len(path)}})
			}
		}
	}
	if len(all) == 0 {
		return 0, "", false
	}
	best := slices.MinFunc(all, func(a, b candidate) int {
		if c := slices.Compare(b.criteria, a.criteria); c != 0 {
			return c
		}
		if a.route == b.route {
			return a.path - b.path
		}
		if c := routes[a.route].CreatedAt - routes[b.route].CreatedAt; c != 0 {
			return int(c)
		}
		return strings.Compare(routes[a.route].ID, routes[b.route].ID)
	})
	return best.route, best.matched, true
}

func matchesHost(hosts []string, r *router.Request) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool {
		name, port, _ := strings.Cut(h, ":")
		if port != "" && port != fmt.Sprint(r.Port) {
			return false
		}
		switch {
		case strings.HasPrefix(name, "*"):
			return strings.HasSuffix(r.Host, name[1:])
		case strings.HasSuffix(name, "*"):
			return strings.HasPrefix(r.Host, name[:len(name)-1])
		}
		return name == r.Host
	})
}

func matchesHeaders(want map[string][]string, have map[string][]string) bool {
	for name, values := range want {
		if !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(have[name], v) }) {
			return false
		}
	}
	return true
}

// pick returns some of the values, none half of the time.
func pick(random *rand.Rand, values ...string) []string {
	if random.IntN(2) == 0 {
		return nil
	}
	var some []string
	for range 1 + random.IntN(2) {
		if v := values[random.IntN(len(values))]; !slices.Contains(some, v) {
			some = append(some, v)
		}
	}
	return some
}

func randomRoutes(random *rand.Rand) []entity.Route {
	routes := make([]entity.Route, 1+random.IntN(30))
	for i := range routes {
		routes[i] = entity.Route{
			Meta:    entity.Meta{ID: fmt.Sprintf("%03d", random.IntN(1000)*100+i), CreatedAt: int64(random.IntN(3))},
			Methods: pick(random, "GET", "POST", "PUT"),
			Hosts:   pick(random, "a.example", "b.example", "*.example", "a.*", "a.example:8080", "*.a.example"),
			Paths: pick(random, "/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "~/a/b$", "~/a", "~/a/(?<id>[^#?/]+)$", "~/a/(?<id>[^#?/]+)/b$",
				"~/(?<x>[^#?/]+)/b", "~/(?<x>[^/]+)/(?<y>[^/]+)$", "~/a/[0-9]+", "~/a|/b", "~/a/(?<id>[^#?/]+)", "~/a/(?<f>[^#?/]+)\\.json$", "~/a/b/$",
				"~/(?<id>[^#?/]+)/$", "~/a\\.b/(?<id>[^#?/]+)$", "~(?i)/A/B", "~/a/?$",
				"~/a(?<rest>/(?<id>[^#?/]+)/b)$", "~/a(?<rest>/b/)$", "~/a\\.b(/(?<id>[^#?/]+))$", "~/a(?<a>/(?<b>[^#?/]+)|/b)$"),
			SNIs:          pick(random, "a.example", "b.example"),
			RegexPriority: random.IntN(3),
		}
		if random.IntN(3) == 0 {
			routes[i].Headers = map[string][]string{"X-A": {"1", "2"}}
			if random.IntN(2) == 0 {
				routes[i].Headers["X-B"] = []string{"1"}
			}
		}
	}
	return routes
}

func randomRequest(random *rand.Rand) *router.Request {
	one := func(values ...string) string { return values[random.IntN(len(values))] }
	r := &router.Request{
		Method: one("GET", "POST", "DELETE"), Host: one("a.example", "b.example", "c.example", "x.a.example", "a.org", ""),
		Port: []int{80, 8080}[random.IntN(2)], TLS: random.IntN(2) == 0, ServerName: one("a.example", "b.example", "c.example"),
		Header: map[string][]string{},
	}
	for range random.IntN(5) {
		r.Path += "/" + one("a", "b", "c", "ab", "12", "a.b", "x.json", "A", "B")
	}
	if r.Path == "" || random.IntN(4) == 0 {
		r.Path += "/"
	}
	if random.IntN(2) == 0 {
		r.Header["X-A"] = []string{one("1", "2", "3")}
	}
	if random.IntN(2) == 0 {
		r.Header["X-B"] = []string{one("1", "2"), "1"}
	}
	return r
}

func agrees(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	routes := randomRoutes(random)
	fast, err := router.New(routes)
	require.NoError(t, err)
	for range 40 {
		request := randomRequest(random)
		want, matched, found := literal(routes, request)
		got, ok := fast.Find(request)
		require.Equal(t, found, ok, "%+v\n%+v", routes, request)
		if found {
			require.Equal(t, want, got.Route, "%+v\nwant %+v\ngot %+v", request, routes[want], routes[got.Route])
			require.Equal(t, matched, got.Matched, "%+v\n%+v", routes[want], request)
		}
	}
}

func TestRouter_Find_equalsTryingEveryRoute(t *testing.T) {
	for seed := range uint64(800) {
		agrees(t, seed)
	}
}

func FuzzTheIndexFindsWhatTryingEveryRouteFinds(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(agrees)
}

func TestNew_namesRoutesThatCannotBeServed(t *testing.T) {
	for want, route := range map[string]entity.Route{
		`route "r": paths: path "~/a(?=b)":`:                                   {Paths: []string{"~/a(?=b)"}},
		`route "r": paths: path "~/(a)\\1":`:                                   {Paths: []string{`~/(a)\1`}},
		`route "r": paths: "a" does not begin with "/" or "~"`:                 {Paths: []string{"a"}},
		`route "r": hosts: "a.*.b": a wildcard is the first or the last label`: {Hosts: []string{"a.*.b"}},
		`route "r": hosts: "a:0" has no valid port`:                            {Hosts: []string{"a:0"}},
		`route "r": headers.x: "~*(":`:                                         {Headers: map[string][]string{"x": {"~*("}}},
	} {
		route.Name = "r"
		_, err := router.New([]entity.Route{route})
		require.ErrorContains(t, err, want)
	}
}

func TestMatch_Captures_namesTheGroups(t *testing.T) {
	r, err := router.New([]entity.Route{{Paths: []string{`~/things/(?<id>[^#?/]+)/parts/(?<part>[^#?/]+)$`}}})
	require.NoError(t, err)
	match, ok := r.Find(&router.Request{Path: "/things/7/parts/x"})
	require.True(t, ok)
	require.Equal(t, map[string]string{"id": "7", "part": "x"}, match.Captures("/things/7/parts/x"))
	_, ok = r.Find(&router.Request{Path: "/things/7/parts/"})
	require.False(t, ok)
}

func TestMatch_Capture_returnsTheRestAfterAPrefix(t *testing.T) {
	for path, expression := range map[string]string{
		"/a.b/things/7/parts": `~/a\.b(?<rest>/things/(?<id>[^#?/]+)/parts)$`,
		"/a.b/healthz":        `~/a\.b(?<rest>/healthz)$`,
		"/a.b/7.json":         `~/a\.b(?<rest>/(?<id>[^#?/]+)\.json)$`,
	} {
		r, err := router.New([]entity.Route{{Paths: []string{expression}}})
		require.NoError(t, err)
		match, ok := r.Find(&router.Request{Path: path})
		require.True(t, ok, path)
		require.Equal(t, path, match.Matched)
		require.Equal(t, path[len("/a.b"):], match.Capture(path, "rest"))
		require.Equal(t, match.Captures(path)["id"], match.Capture(path, "id"))
		require.Equal(t, path[len("/a.b"):], match.Captures(path)["rest"])
		require.Empty(t, match.Capture(path, "absent"))
	}
}

func TestRouter_Find_matchesHeaderExpressions(t *testing.T) {
	r, err := router.New([]entity.Route{{Headers: map[string][]string{"x-v": {"~*^v[12]$", "Beta"}}}})
	require.NoError(t, err)
	for value, want := range map[string]bool{"V1": true, "v3": false, "beta": true} {
		_, ok := r.Find(&router.Request{Path: "/", Header: map[string][]string{"X-V": {"other", value}}})
		require.Equal(t, want, ok, value)
	}
}

// manyRoutes are like those of an OpenAPI file, spread over prefixes.
func manyRoutes(n int) []entity.Route {
	routes := make([]entity.Route, n)
	for i := range routes {
		path := fmt.Sprintf("/service%d/things", i/10)
		switch i % 10 {
		case 0:
			routes[i].Paths = []string{path}
		case 1:
			routes[i].Paths = []string{"~" + path + "$"}
		default:
			routes[i].Paths = []string{fmt.Sprintf(`~%s/(?<id>[^#?/]+)/part%d$`, path, i%10)}
		}
		routes[i].ID, routes[i].Methods = fmt.Sprintf("%06d", i), []string{"GET"}
	}
	return routes
}

func TestRouter_Find_doesNotAllocate(t *testing.T) {
	r, err := router.New(manyRoutes(1000))
	require.NoError(t, err)
	request := &router.Request{Method: "GET", Path: "/service42/things/17/part5", Host: "a.example"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if m, ok := r.Find(request); !ok || m.Route != 425 {
			t.Error(m, ok)
		}
	}))
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		r, err := router.New(manyRoutes(n))
		require.NoError(b, err)
		for name, path := range map[string]string{"template": fmt.Sprintf("/service%d/things/17/part5", n/20),
			"prefix": fmt.Sprintf("/service%d/things/x/y/z", n/20), "none": "/nothing/here"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				request := &router.Request{Method: "GET", Path: path, Host: "api.example"}
				for b.Loop() {
					r.Find(request)
				}
			})
		}
	}
}
