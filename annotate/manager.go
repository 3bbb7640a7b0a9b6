package annotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Errors of a Manager.
var (
	// ErrNotRunning is returned while Run is not running or has not yet read
	// the stored channels.
	ErrNotRunning = errors.New("annotate: the service is starting or stopping")
	// ErrChannelExists is returned by Create for an identifier that is taken.
	ErrChannelExists = errors.New("annotate: channel exists")
	// ErrChannelNotFound is returned for an identifier that is not known.
	ErrChannelNotFound = errors.New("annotate: channel not found")
	// ErrAnnotationNotFound is returned for an identifier that is not known.
	ErrAnnotationNotFound = errors.New("annotate: annotation not found")
	// ErrStandalone is returned by the annotation methods of a Manager that
	// has no storage.
	ErrStandalone = errors.New("annotate: no storage in standalone mode")
)

// Config is what a [Manager] needs.
type Config struct {
	// Environment is what the channels share; its Brokers are required.
	Environment
	// Documents keeps channels and annotations. Nil means standalone mode:
	// nothing is kept, and there are no annotations.
	Documents storage.Documents
	// Secret encrypts stored user names and passwords; 32 bytes. Empty means
	// that they are stored in clear.
	Secret string
	// RestoreStopped makes every stored channel come back stopped. Otherwise a
	// channel comes back as it was. Where instances share the storage it holds
	// for the first of them to start, and not for one that joins others.
	RestoreStopped bool
	// MaxShutdown is how long stopping all channels, or one, may take. Zero
	// means 20 seconds.
	MaxShutdown time.Duration
	// RetryMin and RetryMax bound the pause before a channel that should run
	// and does not is started again; the pause doubles each time. Zero means 1
	// second and 1 minute.
	RetryMin, RetryMax time.Duration
	// Shared says that other instances use the same Documents at the same
	// time, each under its own Environment.Instance, and that each channel is
	// to run on one of them. Without it the storage is this Manager's alone,
	// and it runs all channels.
	Shared bool
	// LeaseDuration is after what time without a sign of life the channels of
	// an instance are taken over by others. An instance that cannot reach the
	// storage stops its channels before that, if there are others. Only with
	// Shared; from a second to an hour, zero means 10 seconds.
	LeaseDuration time.Duration
	// PollInterval is how often an instance looks for what others have changed
	// in the storage. Only with Shared; zero means 2 seconds.
	PollInterval time.Duration
}

// Manager keeps the channels of a service: it makes, finds, changes and
// removes them, stores them, and brings them back after a restart. All methods
// are safe for concurrent use; operations on one channel happen one after the
// other, and none holds up reading.
//
// A channel that cannot start when it is created, or when a client asks for
// it, stays stopped and its status says why. A channel that did run comes back
// by itself, after a restart of the service as after a failure of a broker: as
// long as that does not succeed it is listed as stopped with the error, and is
// tried again with growing pauses until it runs or a client stops or removes
// it. Stopping the service stops all channels but leaves their stored status,
// so that those that ran will run again.
//
// With Config.Shared several managers share one storage and its channels. Each
// instance keeps a lease, one document, and claims the channels it runs; every
// instance shows and changes every channel, and what it stores is done by the
// instance that runs the channel, at its next look. The channels of an instance
// that dies are taken over when its lease has run out, those of one that is
// stopped at once. Distributed channels run on every instance.
type Manager struct {
	config Config
	sealer sealer
	fleet  *fleet // nil when the storage is not shared

	mu      sync.RWMutex
	entries map[string]*entry
	phase   phase
	fatal   error

	ctx      context.Context // of the keepers and operations; ends with Run
	cancel   context.CancelFunc
	tasks    sync.WaitGroup // keepers
	ops      sync.WaitGroup // operations
	starting chan struct{}  // bounds the channels that connect at once
	loaded   chan struct{}  // closed once Run serves or has failed
}

// storageTimeout is how long an operation may wait for the storage.
const storageTimeout = 30 * time.Second

// phase says where in its life a Manager is.
type phase uint8

const (
	idle phase = iota
	loading
	serving
	ended
)

// NewManager checks the configuration. Nothing happens before Run.
func NewManager(config Config) (*Manager, error) {
	config, err := config.filledSharing()
	if err != nil {
		return nil, err
	}
	environment, err := config.Environment.filled()
	if err != nil {
		return nil, err
	}
	config.Environment = environment
	for field, value := range map[string]time.Duration{
		"MaxShutdown": config.MaxShutdown, "RetryMin": config.RetryMin, "RetryMax": config.RetryMax,
		"LeaseDuration": config.LeaseDuration, "PollInterval": config.PollInterval,
	} {
		if value < 0 {
			return nil, fmt.Errorf("annotate: Config.%s: must not be negative, got %v", field, value)
		}
	}
	config.MaxShutdown = cmp.Or(config.MaxShutdown, 20*time.Second)
	config.RetryMin = cmp.Or(config.RetryMin, time.Second)
	config.RetryMax = max(cmp.Or(config.RetryMax, time.Minute), config.RetryMin)
	sealer, err := newSealer(config.Secret)
	if err != nil {
		return nil, err
	}
	const startsAtOnce = 16
	m := &Manager{
		config: config, sealer: sealer,
		entries:  map[string]*entry{},
		starting: make(chan struct{}, startsAtOnce),
		loaded:   make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if config.Shared && config.Documents != nil {
		m.fleet = newFleet(m.config)
	}
	return m, nil
}

// filledSharing fills in what is about several instances.
func (c Config) filledSharing() (Config, error) {
	if !c.Shared {
		return c, nil
	}
	if c.Instance == "" {
		return c, errors.New("annotate: Environment.Instance: required with Config.Shared, and different for each instance")
	}
	if err := storage.ValidKey(c.Instance); err != nil || len(c.Instance) > maxInstance {
		return c, fmt.Errorf("annotate: Environment.Instance: expected at most %d bytes of UTF-8 text without control characters, got %.*q",
			maxInstance, maxInstance, c.Instance)
	}
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 10*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, 2*time.Second)
	if c.LeaseDuration < time.Second || c.LeaseDuration > maxLease {
		return c, fmt.Errorf("annotate: Config.LeaseDuration: expected 1s to %v, got %v", maxLease, c.LeaseDuration)
	}
	return c, nil
}

// maxInstance is the greatest length of an instance's name in bytes.
const maxInstance = 200

// Run reads the stored channels, starts those that should run, and serves
// until ctx ends; then it stops all channels within Config.MaxShutdown. It
// returns an error when the storage cannot be read, ErrInstanceTaken, and one
// that says what was left unfinished. It can be called once.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	if m.phase != idle {
		m.mu.Unlock()
		return errors.New("annotate: Manager.Run was called before")
	}
	m.phase = loading
	m.mu.Unlock()

	err := m.load(ctx)
	var membership *membership
	if err == nil && m.fleet != nil {
		membership, err = m.enter(ctx)
	}
	if err != nil {
		m.mu.Lock()
		m.phase, m.fatal = ended, err
		m.mu.Unlock()
		close(m.loaded)
		m.cancel()
		return fmt.Errorf("restore channels: %w", err)
	}
	m.mu.Lock()
	m.phase = serving
	for _, e := range m.entries {
		if m.fleet == nil && e.wanted() {
			m.keep(e)
		}
	}
	m.mu.Unlock()
	close(m.loaded)
	if membership == nil {
		<-ctx.Done()
		return m.shutDown()
	}
	return membership.run(ctx)
}

// shutDown stops everything. The stored status of the channels stays.
func (m *Manager) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.config.MaxShutdown)
	defer cancel()
	m.mu.Lock()
	m.phase = ended
	m.mu.Unlock()
	m.cancel()
	m.ops.Wait()
	m.tasks.Wait()

	m.mu.RLock()
	entries := slices.Collect(maps.Values(m.entries))
	m.mu.RUnlock()
	errs := make([]error, len(entries))
	var stops sync.WaitGroup
	for i, e := range entries {
		if e.channel != nil {
			stops.Go(func() { errs[i] = errors.Join(m.stop(ctx, e), e.channel.Close()) })
		}
	}
	stops.Wait()
	return errors.Join(errs...)
}

// Ready returns nil while the manager serves, and otherwise why it does not.
func (m *Manager) Ready() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.fatal != nil:
		return m.fatal
	case m.phase != serving:
		return ErrNotRunning
	}
	return nil
}

// WaitReady waits until Run has read the stored channels, and returns what
// Ready then does, or the context's error.
func (m *Manager) WaitReady(ctx context.Context) error {
	select {
	case <-m.loaded:
		return m.Ready()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin admits an operation. Its context is not the caller's, so that a client
// that goes away leaves nothing half done; it ends with the service, and after
// a time that is enough for everything it may have to wait for.
func (m *Manager) begin(ctx context.Context) (context.Context, func(), error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.phase != serving {
		return nil, nil, ErrNotRunning
	}
	m.ops.Add(1)
	limit := m.config.MaxShutdown + 2*m.config.ConnectTimeout + storageTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	unlink := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { unlink(); cancel(); m.ops.Done() }, nil
}

// Get returns a channel with its status of now.
func (m *Manager) Get(id string) (ChannelConfig, error) {
	e, err := m.find(id)
	if err != nil {
		return ChannelConfig{}, err
	}
	return e.view(), nil
}

// List returns all channels with their status of now, by identifier.
func (m *Manager) List() []ChannelConfig {
	entries := m.snapshot()
	channels := make([]ChannelConfig, len(entries))
	for i, e := range entries {
		channels[i] = e.view()
	}
	return channels
}

// Stats returns the counts of all channels by identifier.
func (m *Manager) Stats() map[string]Stats {
	stats := map[string]Stats{}
	for _, e := range m.snapshot() {
		if e.channel != nil {
			stats[e.id] = e.channel.Stats()
		}
	}
	return stats
}

// noticed returns the counts of a channel that its status shows.
func (m *Manager) noticed(id string) (empty, illTyped uint64) {
	e, err := m.find(id)
	if err != nil || e.channel == nil {
		return 0, 0
	}
	n := &e.channel.counters
	return n.empty.Load(), n.illTyped.Load()
}

// find returns a channel that is not still being created.
func (m *Manager) find(id string) (*entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.entries[id]; e != nil && e.listed && !e.isHidden() {
		return e, nil
	}
	return nil, fmt.Errorf("find channel %q: %w", id, ErrChannelNotFound)
}

// snapshot returns the channels that are listed, by identifier.
func (m *Manager) snapshot() []*entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	entries := make([]*entry, 0, len(m.entries))
	for _, e := range m.entries {
		if e.listed && !e.isHidden() {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	return entries
}

// drop takes a channel off the list.
func (m *Manager) drop(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[e.id] == e {
		delete(m.entries, e.id)
	}
}
