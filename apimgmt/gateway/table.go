package gateway

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// table is a compiled configuration. It does not change. Requests hold it while
// they use it; when it is served no longer and the last of them is over, what it
// alone uses is released.
type table struct {
	normal   entity.Normal
	config   entity.Config // of normal, which shares it
	revision uint64

	router    *router.Router
	routes    []*route // in the order of the router's numbers
	global    chains   // for requests without a route
	instances []*instance
	pools     map[string]*balance.Pool // by name of the upstream
	clients   map[clientKey]*client

	consumers map[string]*entity.Consumer // by id, "u:" and user name, "c:" and custom id
	keys      map[[sha256.Size]byte]credential

	users   atomic.Int64 // requests, and one for being served
	release sync.Once
}

// credential is a key and its consumer.
type credential struct {
	key      *entity.Key
	consumer *entity.Consumer
}

// route is a compiled route.
type route struct {
	entity  *entity.Route
	service *service // nil if the route has none
	chains  chains
	stats   *routeStats // from when the table is served on

	strip, preserveHost    bool
	httpsOnly, grpc, plain bool // protocols: no http; grpc or grpcs; grpc without TLS
	redirect               int
	pathV1                 bool
}

// service is a compiled service.
type service struct {
	entity  *entity.Service
	scheme  string // http or https
	grpc    bool
	path    string // as the service has it; "/" if it has none
	pool    *balance.Pool
	peer    *balance.Peer // if there is no pool
	retries int
	client  *client

	connect, write, read time.Duration
}

// acquire returns the table that is served, held for a request.
func (g *Gateway) acquire() *table {
	for {
		t := g.table.Load()
		t.users.Add(1)
		if t == g.table.Load() {
			return t
		}
		g.leave(t)
	}
}

// leave releases a table that was held, or served.
func (g *Gateway) leave(t *table) {
	if t.users.Add(-1) == 0 {
		t.release.Do(func() { g.dispose(t) })
	}
}

// dispose releases what only a table used that is not used any more.
func (g *Gateway) dispose(t *table) {
	var failed error
	for _, i := range t.instances {
		failed = errors.Join(failed, i.release())
	}
	for _, c := range t.clients {
		c.release()
	}
	if failed != nil {
		g.options.Logger.Error("release configuration", "revision", t.revision, "error", failed)
	}
}

// compile creates a table of a configuration. It takes over what the table before
// has that stays the same. Plugins that are unusable are accepted of what is stored.
func (g *Gateway) compile(normal entity.Normal, before *table, stored bool) (_ *table, err error) {
	t := &table{normal: normal, config: normal.Shared(), pools: map[string]*balance.Pool{}, clients: map[clientKey]*client{}}
	defer func() {
		if err != nil {
			g.dispose(t)
		}
	}()
	if err := t.index(); err != nil {
		return nil, err
	}
	if err := t.compilePools(before); err != nil {
		return nil, err
	}
	byKind, instances, err := g.compilePlugins(&t.config, before, stored)
	if err != nil {
		return nil, err
	}
	t.instances = instances
	var kinds []*Kind
	for kind := range byKind {
		kinds = append(kinds, kind)
	}
	inOrder(kinds)

	services := map[string]*service{}
	for i := range t.config.Services {
		s, err := g.compileService(t, &t.config.Services[i])
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", cmp.Or(t.config.Services[i].Name, t.config.Services[i].ID), err)
		}
		services[s.entity.ID] = s
	}
	var routed []entity.Route
	for i := range t.config.Routes {
		e := &t.config.Routes[i]
		r := newRoute(e)
		serviceID := ""
		if e.Service != nil {
			if r.service = services[e.Service.ID]; r.service == nil {
				return nil, fmt.Errorf("route %q: service: %q is unknown", cmp.Or(e.Name, e.ID), e.Service.ID)
			}
			if enabled := r.service.entity.Enabled; enabled != nil && !*enabled {
				continue
			}
			serviceID = e.Service.ID
		}
		protocol := "http"
		if r.grpc {
			protocol = "grpc"
		}
		r.chains = chains{byKind.chain(e.ID, serviceID, protocol, kinds), byKind.chain(e.ID, serviceID, protocol+"s", kinds)}
		t.routes = append(t.routes, r)
		routed = append(routed, *e)
	}
	if t.router, err = router.New(routed); err != nil {
		return nil, err
	}
	t.global = chains{byKind.chain("", "", "http", kinds), byKind.chain("", "", "https", kinds)}
	return t, nil
}

// newRoute takes a route apart.
func newRoute(e *entity.Route) *route {
	r := &route{
		entity: e, strip: e.StripPath == nil || *e.StripPath, preserveHost: e.PreserveHost,
		redirect: cmp.Or(e.HTTPSRedirectStatusCode, 426), pathV1: e.PathHandling == "v1",
	}
	if len(e.Protocols) > 0 {
		r.httpsOnly = slices.Contains(e.Protocols, "https") && !slices.Contains(e.Protocols, "http")
		r.plain = slices.Contains(e.Protocols, "grpc")
		r.grpc = r.plain || slices.Contains(e.Protocols, "grpcs")
	}
	return r
}

// compileService takes a service apart and finds what connects to it.
func (g *Gateway) compileService(t *table, e *entity.Service) (*service, error) {
	s := &service{entity: e, scheme: "http", path: cmp.Or(e.Path, "/"), retries: 5}
	port := 80
	switch e.Protocol {
	case "", "http", "ws":
	case "https", "wss":
		s.scheme, port = "https", 443
	case "grpc":
		s.grpc = true
	case "grpcs":
		s.scheme = "https"
		s.grpc = true
		port = 443
	default:
		return nil, fmt.Errorf("protocol: %q is not served here", e.Protocol)
	}
	if e.Host == "" || strings.ContainsAny(e.Host, "/?#@ \t\r\n") {
		return nil, fmt.Errorf("host: %q is not a host", e.Host)
	}
	if s.path[0] != '/' || strings.ContainsAny(s.path, "?# \t\r\n") {
		return nil, fmt.Errorf("path: %q is not a path", e.Path)
	}
	if e.Retries != nil {
		s.retries = *e.Retries
	}
	milliseconds := func(n int) time.Duration { return time.Duration(cmp.Or(n, 60000)) * time.Millisecond }
	s.connect = milliseconds(e.ConnectTimeout)
	s.write = milliseconds(e.WriteTimeout)
	s.read = milliseconds(e.ReadTimeout)
	if s.pool = t.pools[e.Host]; s.pool == nil {
		port = cmp.Or(e.Port, port)
		host := strings.Trim(e.Host, "[]")
		s.peer = balance.NewPeer(net.JoinHostPort(host, strconv.Itoa(port)), host)
	}
	s.client = g.openClient(t, clientKey{
		secure: s.scheme == "https", verify: e.TLSVerify == nil || *e.TLSVerify, grpc: s.grpc,
		connect: s.connect, write: s.write, read: s.read,
	})
	return s, nil
}

// compilePools creates the upstreams, or takes them over.
func (t *table) compilePools(before *table) error {
	targets := map[string][]entity.Target{}
	for _, target := range t.config.Targets {
		if target.Upstream == nil {
			return fmt.Errorf("target %q: upstream: none given", target.Target)
		}
		targets[target.Upstream.ID] = append(targets[target.Upstream.ID], target)
	}
	for i := range t.config.Upstreams {
		u := &t.config.Upstreams[i]
		var old *balance.Pool
		if before != nil {
			old = before.pools[u.Name]
		}
		pool, err := balance.New(*u, targets[u.ID], old)
		if err != nil {
			return fmt.Errorf("upstream %q: %w", u.Name, err)
		}
		t.pools[u.Name] = pool
	}
	return nil
}

// index creates the maps of consumers and keys.
func (t *table) index() error {
	t.consumers = make(map[string]*entity.Consumer, 3*len(t.config.Consumers))
	for i := range t.config.Consumers {
		c := &t.config.Consumers[i]
		t.consumers[c.ID] = c
		if c.Username != "" {
			t.consumers["u:"+c.Username] = c
		}
		if c.CustomID != "" {
			t.consumers["c:"+c.CustomID] = c
		}
	}
	t.keys = make(map[[sha256.Size]byte]credential, len(t.config.Keys))
	for i := range t.config.Keys {
		k := &t.config.Keys[i]
		if k.Key == "" || k.Consumer == nil || t.consumers[k.Consumer.ID] == nil {
			return fmt.Errorf("key %q: lacks the key itself or a consumer", k.ID)
		}
		sum := sha256.Sum256([]byte(k.Key))
		if _, taken := t.keys[sum]; taken {
			return fmt.Errorf("key %q: key: is there twice", k.ID)
		}
		t.keys[sum] = credential{k, t.consumers[k.Consumer.ID]}
	}
	return nil
}

func (t *table) consumer(name string) *entity.Consumer {
	if c := t.consumers[name]; c != nil && c.ID == name {
		return c
	}
	if c := t.consumers["u:"+name]; c != nil {
		return c
	}
	return t.consumers["c:"+name]
}

func (t *table) key(key string, now time.Time) (entity.Key, *entity.Consumer, bool) {
	c, ok := t.keys[sha256.Sum256([]byte(key))]
	if !ok || (c.key.TTL > 0 && now.Unix() >= c.key.CreatedAt+int64(c.key.TTL)) {
		return entity.Key{}, nil, false
	}
	return *c.key, c.consumer, true
}
