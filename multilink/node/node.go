package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/history"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/events"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/node/internal/view"
	"github.com/iotenablers/enablers/storage"
)

// Node is one instance of a multi-link network, created with [Open]. It is safe for use
// by several goroutines.
type Node struct {
	config    Config
	logger    *slog.Logger
	store     *desired.Store
	hub       *events.Hub
	turn      chan struct{}                    // the goroutine that has it may change what follows
	uncertain bool                             // it is not known which settings are stored
	failed    string                           // why they could not be applied the last time
	now       atomic.Pointer[desired.Settings] // stored, and applied
	missing   atomic.Pointer[map[string]bool]
	phase     atomic.Int32
	begun     chan struct{}         // closed as soon as the node takes changes
	trouble   atomic.Pointer[error] // why the plane does not do what is stored; nil if it does
	began     time.Time
	history   *history.Store
}

// The phases of a node's life.
const (
	made int32 = iota
	starting
	running
	ended
)

// The intervals and time limits of a running node.
const (
	tendInterval    = 3 * time.Second
	resolveInterval = time.Minute
	applyTime       = 30 * time.Second
	storeTime       = 10 * time.Second
	beginTime       = 10 * time.Second // that a change waits for a node that starts
)

// Open reads the stored configuration, and creates the private key of a new instance. It
// changes nothing else; Run does.
func Open(ctx context.Context, config Config) (*Node, error) {
	if err := config.normalise(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	n := &Node{config: config, logger: config.Logger, store: desired.NewStore(config.Documents), hub: events.New(),
		turn: make(chan struct{}, 1), begun: make(chan struct{}), began: time.Now(), history: history.New(nil)}
	now, err := n.store.Load(ctx, desired.Role(config.Role), !config.NoReplay)
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	n.now.Store(now)
	n.missing.Store(&map[string]bool{})
	return n, nil
}

// ErrData reports that the stored configuration cannot be read: it is damaged, of another role or
// of a later version.
var ErrData = desired.ErrData

// Settings returns the configuration in force, for the packages rest and page.
func (n *Node) Settings() *desired.Settings { return n.now.Load() }

// View returns what the instance shows of settings, such as those that [Node.Change] has
// returned, with what the plane does at the moment. It is for the packages rest and page.
func (n *Node) View(s *desired.Settings) *view.View {
	return &view.View{Settings: s, Plane: n.config.Plane.Status(), Missing: *n.missing.Load(), Port: n.config.Port, Began: n.began,
		Fault: n.Health()}
}

// Events returns the last events of the instance, for the packages rest and page.
func (n *Node) Events() *events.Hub { return n.hub }

// History returns the recorded numbers of the links, for the package page.
func (n *Node) History() *history.Store { return n.history }

// Writable returns nil if changes can be stored: the storage has space.
func (n *Node) Writable(ctx context.Context) error { return storage.Space(ctx, n.config.Documents) }

// Health returns nil while the plane does what is configured, and otherwise why it does
// not.
func (n *Node) Health() error {
	switch n.phase.Load() {
	case made, starting:
		return errors.New("node: starting")
	case ended:
		return errors.New("node: ended")
	}
	if why := n.trouble.Load(); why != nil {
		return *why
	}
	return nil
}

// Ready returns a channel that is closed once the node takes changes, whether or not the plane does what is
// configured; and once the node has ended.
func (n *Node) Ready() <-chan struct{} { return n.begun }

// Run keeps the plane at the configuration until the context ends. It leaves out a link
// while its interface does not exist. What the plane refuses is tried again, and
// [Node.Health] returns the reason; the configuration can be changed meanwhile. Run is
// called once. It does not close the plane.
func (n *Node) Run(ctx context.Context) error {
	if !n.phase.CompareAndSwap(made, starting) {
		return errors.New("node: Run was called before")
	}
	begin := sync.OnceFunc(func() { close(n.begun) })
	defer begin() // no request waits for a node that has ended
	defer n.phase.Store(ended)
	defer n.hub.Close()
	following, stop := context.WithCancel(ctx)
	f := follow(following, n.config.Plane, n.hub)
	var measuring sync.WaitGroup
	defer func() {
		stop()
		<-f.done
		measuring.Wait()
	}()
	if err := n.take(ctx); err != nil {
		return err
	}
	err := n.apply(ctx, n.now.Load())
	n.release()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		n.failed = err.Error()
		n.logger.Error("configuration cannot be applied; this is tried again", "error", err)
	}
	n.phase.Store(running)
	begin()
	n.logger.Info("instance runs", "role", n.config.Role, "links", len(n.now.Load().Head.Links), "clients", len(n.now.Load().Clients))
	measuring.Go(func() { meter{n}.run(following) })
	return n.tend(ctx, f)
}

// follower publishes the plane's events on the hub.
type follower struct {
	done chan struct{}
	err  error // valid when done is closed
}

func follow(ctx context.Context, plane multilink.Plane, hub *events.Hub) *follower {
	f := &follower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.err = plane.Events(ctx, hub.Publish)
	}()
	return f
}

// tend keeps the plane at the configuration: it tries again what failed, adds links whose
// interface exists again, and follows host names.
func (n *Node) tend(ctx context.Context, f *follower) error {
	tick := time.NewTicker(tendInterval)
	defer tick.Stop()
	resolved := time.Time{}
	for {
		if n.now.Load().Head.Attachment != nil && time.Since(resolved) >= resolveInterval {
			resolved = time.Now()
			if _, err := n.Change(ctx, desired.Follow()); err != nil && ctx.Err() == nil {
				n.logger.Warn("addresses of the server could not be brought up to date", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.done:
			if ctx.Err() != nil {
				return nil
			}
			if f.err != nil {
				return fmt.Errorf("node: follow the plane's events: %w", f.err)
			}
			return errors.New("node: the plane was closed")
		case <-tick.C:
			n.repair(ctx)
		}
	}
}

// started waits until the node takes changes, for a while.
func (n *Node) started(ctx context.Context) error {
	if n.phase.Load() < running {
		ctx, cancel := context.WithTimeout(ctx, beginTime)
		defer cancel()
		select {
		case <-n.begun:
		case <-ctx.Done():
		}
	}
	switch n.phase.Load() {
	case made, starting:
		return fault.Busy("the instance is starting")
	case ended:
		return fault.Busy("the instance is ending")
	}
	return nil
}

// take waits for the turn to change something.
func (n *Node) take(ctx context.Context) error {
	select {
	case n.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *Node) release() { <-n.turn }

// repair applies the settings again where the plane does not hold them.
func (n *Node) repair(ctx context.Context) {
	if n.trouble.Load() == nil && !n.returned(ctx) {
		return
	}
	if n.take(ctx) != nil {
		return
	}
	defer n.release()
	err := n.settle(ctx)
	if err == nil {
		err = n.apply(ctx, n.now.Load())
	}
	switch {
	case err == nil:
		n.failed = ""
	case ctx.Err() == nil && err.Error() != n.failed:
		n.failed = err.Error()
		n.logger.Error("configuration cannot be applied; this is tried again", "error", err)
	}
}

// settle reads the stored settings where a failure has left them uncertain. Only the
// goroutine that has the turn calls it.
func (n *Node) settle(ctx context.Context) error {
	if !n.uncertain {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	now, err := n.store.Load(ctx, desired.Role(n.config.Role), !n.config.NoReplay)
	if err != nil {
		return err
	}
	n.now.Store(now)
	n.uncertain = false
	return nil
}

// returned reports whether an interface that was missing exists again.
func (n *Node) returned(ctx context.Context) bool {
	missing := *n.missing.Load()
	if len(missing) == 0 {
		return false
	}
	there, err := n.config.interfaces(ctx)
	if err != nil {
		return false
	}
	now := n.now.Load()
	for name := range missing {
		if at := now.LinkAt(name); at >= 0 && there[now.Head.Links[at].Carrier()] {
			return true
		}
	}
	return false
}

// interfaces returns those that may carry a link.
func (c *Config) interfaces(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{}
	if c.Interfaces == nil {
		return there, nil
	}
	all, err := c.Interfaces(ctx)
	for _, info := range all {
		there[info.Interface] = !info.Gone
	}
	return there, err
}
