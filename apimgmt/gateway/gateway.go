package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
	"github.com/iotenablers/enablers/internal/outbound"
	"github.com/iotenablers/enablers/internal/tracing"
)

var (
	// ErrRevision means that another writer has changed the configuration since the
	// revision that was given.
	ErrRevision = errors.New("gateway: configuration has changed meanwhile")
	// ErrClosed means that the gateway was closed.
	ErrClosed = errors.New("gateway: closed")
	// ErrNotFound means that there is no upstream or target of that name.
	ErrNotFound = errors.New("gateway: not found")
)

// Gateway serves a configuration. It is safe for concurrent use.
type Gateway struct {
	options Options
	kinds   map[string]*Kind
	policy  outbound.Policy
	client  *http.Client // for plugins
	traffic *traffic
	tracer  *tracing.Tracer // nil if there are no spans
	via11   []string        // the Via field of messages of HTTP/1.1; it is never changed
	via2    []string        // and of HTTP/2

	table     atomic.Pointer[table]
	failures  failures
	exchanges sync.Pool
	buffers   buffers

	clientsMu sync.Mutex
	clients   map[clientKey]*client

	mu       sync.Mutex // of changing what is served
	closed   bool
	revision uint64
	watching context.Context // of Run; nil if it does not run
	watches  map[*balance.Pool]context.CancelFunc
	watchers sync.WaitGroup
}

// New creates a gateway that serves an empty configuration: it answers every request
// with 404. Nil options are the defaults. An error names the option that is wrong.
func New(options *Options) (*Gateway, error) {
	if options == nil {
		options = &Options{}
	}
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		options: o, kinds: map[string]*Kind{}, policy: outbound.Policy{Allow: o.AllowUpstreams},
		traffic: newTraffic(o.MaxMeasuredRoutes), via11: []string{"1.1 " + o.Name}, via2: []string{"2 " + o.Name},
		tracer:  tracing.New(o.TracerProvider, "apimgmt/gateway"),
		clients: map[clientKey]*client{}, watches: map[*balance.Pool]context.CancelFunc{},
	}
	for i := range o.Kinds {
		g.kinds[o.Kinds[i].Name] = &o.Kinds[i]
	}
	g.client = &http.Client{Transport: newTransport(clientKey{verify: true, connect: 10 * time.Second, read: time.Minute,
		write: time.Minute}, g)}
	empty, err := g.compile(entity.Normal{}, nil, false)
	if err != nil {
		return nil, err
	}
	empty.users.Store(1)
	g.table.Store(empty)
	if o.Registerer != nil {
		if err := o.Registerer.Register(g.traffic); err != nil {
			return nil, fmt.Errorf("gateway: Options.Registerer: %w", err)
		}
	}
	return g, nil
}

// Apply serves a configuration from now on, in place of the one before. If it is
// not valid nothing changes, and the error names the entity and the field.
func (g *Gateway) Apply(config entity.Config) error {
	return g.change(func(entity.Config) (entity.Config, error) { return config, nil })
}

// ApplyStored is Apply for what is to be stored as well: store is called once it is
// sure that the configuration can be served, and it is served if store returns nil.
// Otherwise nothing changes, and store's error is returned. No other writer changes what
// is served in between.
func (g *Gateway) ApplyStored(next entity.Normal, store func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	t, err := g.compile(next, g.table.Load(), false)
	if err != nil {
		return fmt.Errorf("apply configuration: %w", err)
	}
	if err := store(); err != nil {
		g.dispose(t)
		return err
	}
	g.serve(t)
	return nil
}

// Load is Apply for a configuration that is stored already. Plugins that are unusable here are
// served and logged; see [Plugin].
func (g *Gateway) Load(stored entity.Normal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	t, err := g.compile(stored, g.table.Load(), true)
	if err != nil {
		return fmt.Errorf("apply configuration: %w", err)
	}
	g.serve(t)
	return nil
}

// Replace is Apply if the revision served is still the one given, and returns the new
// revision. Otherwise it changes nothing and returns an error that wraps
// ErrRevision, and the revision served.
func (g *Gateway) Replace(config entity.Config, revision uint64) (uint64, error) {
	var served uint64
	err := g.change(func(entity.Config) (entity.Config, error) {
		if served = g.revision; served != revision {
			return entity.Config{}, fmt.Errorf("replace revision %d, %d is served: %w", revision, served, ErrRevision)
		}
		served++
		return config, nil
	})
	return served, err
}

// Update changes what is served: change gets it, and returns what is to be served
// instead. No other writer changes it in between, so change must be quick. Its error
// is returned, and leaves everything as it was.
func (g *Gateway) Update(change func(entity.Config) (entity.Config, error)) error {
	return g.change(change)
}

func (g *Gateway) change(change func(entity.Config) (entity.Config, error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	before := g.table.Load()
	config, err := change(before.normal.Config())
	if err != nil {
		return err
	}
	next, err := before.normal.With(config)
	if err != nil {
		return fmt.Errorf("apply configuration: %w", err)
	}
	t, err := g.compile(next, before, false)
	if err != nil {
		return fmt.Errorf("apply configuration: %w", err)
	}
	g.serve(t)
	return nil
}

// serve puts a table in place of the one served.
func (g *Gateway) serve(next *table) {
	g.revision++
	next.revision = g.revision
	next.users.Store(1)
	for _, r := range next.routes {
		r.stats = g.traffic.route(r.entity, r.service)
	}
	before := g.table.Swap(next)
	g.watch(next)
	g.traffic.keep(next)
	g.leave(before)
}

// Config returns what is served, with every default filled in, and its revision,
// which is zero before the first Apply and grows by one with each. The caller may
// change what it gets.
func (g *Gateway) Config() (entity.Config, uint64) {
	t := g.acquire()
	defer g.leave(t)
	return t.normal.Config(), t.revision
}

// Metrics returns the metrics, for a registry other than that of the options.
func (g *Gateway) Metrics() prometheus.Collector { return g.traffic }

// Check reports whether Apply would take a configuration. Nothing changes.
func (g *Gateway) Check(config entity.Config) error {
	served := g.acquire()
	defer g.leave(served)
	next, err := served.normal.With(config)
	if err != nil {
		return fmt.Errorf("check configuration: %w", err)
	}
	t, err := g.compile(next, served, false)
	if err != nil {
		return fmt.Errorf("check configuration: %w", err)
	}
	g.dispose(t)
	return nil
}

// Kinds returns the names of the plugins that configurations may have, in the order
// in which requests pass them.
func (g *Gateway) Kinds() []string {
	var kinds []*Kind
	for _, kind := range g.kinds {
		kinds = append(kinds, kind)
	}
	names := make([]string, len(kinds))
	for i, kind := range inOrder(kinds) {
		names[i] = kind.Name
	}
	return names
}

// Kind returns the kind of plugin of a name, if configurations may have it.
func (g *Gateway) Kind(name string) (Kind, bool) {
	kind, ok := g.kinds[name]
	if !ok {
		return Kind{}, false
	}
	return *kind, true
}

// Run probes the targets of upstreams with active health checks, until
// the context ends. It returns nil then, when every check is over. Requests are
// served without it.
func (g *Gateway) Run(ctx context.Context) error {
	g.mu.Lock()
	switch {
	case g.closed:
		g.mu.Unlock()
		return ErrClosed
	case g.watching != nil:
		g.mu.Unlock()
		return errors.New("gateway: runs already")
	}
	g.watching = ctx
	g.watch(g.table.Load())
	g.mu.Unlock()

	<-ctx.Done()
	g.mu.Lock()
	g.watching = nil
	for pool, stop := range g.watches {
		stop()
		delete(g.watches, pool)
	}
	g.mu.Unlock()
	g.watchers.Wait()
	return nil
}

// watch starts the health checks of a table and ends all others. The caller holds mu.
func (g *Gateway) watch(t *table) {
	if g.watching == nil {
		return
	}
	wanted := map[*balance.Pool]bool{}
	for _, pool := range t.pools {
		wanted[pool] = pool.Watches()
	}
	for pool, stop := range g.watches {
		if !wanted[pool] {
			stop()
			delete(g.watches, pool)
		}
	}
	for pool, watched := range wanted {
		if !watched || g.watches[pool] != nil {
			continue
		}
		ctx, stop := context.WithCancel(g.watching)
		g.watches[pool] = stop
		g.watchers.Go(func() { pool.Watch(ctx, g.probe, g.healthChanged(pool)) })
	}
}

// Close ends what the gateway holds: the plugins, and connections that are idle.
// Requests after it, and those in flight, are served to their end with what there
// is; close the server first. Run has to have returned. A second Close returns nil.
func (g *Gateway) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	empty, err := g.compile(entity.Normal{}, nil, false)
	if err != nil {
		return err
	}
	g.serve(empty)
	g.client.CloseIdleConnections()
	if g.options.Registerer != nil {
		g.options.Registerer.Unregister(g.traffic)
	}
	return nil
}
