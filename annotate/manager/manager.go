package manager

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/internal/history"
)

// Errors of a Manager. Their texts are part of the REST contract.
var (
	// ErrNotRunning is returned while Run is not running or has not yet read
	// the stored channels.
	ErrNotRunning = errors.New("annotate: the service is starting or stopping")
	// ErrChannelExists is returned by Create for an identifier that is taken.
	ErrChannelExists = errors.New("annotate: channel exists")
	// ErrChannelNotFound is returned for an identifier that no channel has.
	ErrChannelNotFound = errors.New("annotate: channel not found")
	// ErrInstanceTaken is returned by [Manager.Run] when another process that
	// uses the same storage has the same instance name and is alive.
	ErrInstanceTaken = errors.New("annotate: another live instance has this name; give each its own")
)

// Manager keeps the channels of a service: it creates, finds, changes and
// removes them, stores them, and brings them back after a restart. All methods
// are safe for concurrent use; operations on one channel happen one after the
// other, and none delays reading.
//
// A channel that cannot start when it is created, or when a client starts it,
// stays stopped and its status has the reason. A channel that did run comes
// back without a request, after a restart of the service as after a failure of
// a broker. Until that succeeds it is listed as stopped with the error, and is
// tried again with growing pauses until it runs or a client stops or removes
// it. Stopping the service stops all channels but leaves their stored status,
// so that those that ran will run again.
//
// With Config.Shared several managers share one storage and its channels. What
// a client requests of one instance and another one has to do is stored, and
// done by that one at its next look at the storage. The channels of an instance
// that dies are taken over when its lease has run out, those of one that is
// stopped at once. Distributed channels run on every instance.
type Manager struct {
	config      Config
	channels    *registry
	records     *records
	runner      *runner
	annotations *Annotations
	history     *history.Store // what Plot returns
	fleet       *fleet.Fleet   // nil when the storage is not shared
	reconciler  *reconciler    // with fleet

	mu    sync.RWMutex
	phase phase
	fatal error

	ctx    context.Context // of the runner and of operations; ends with Run
	cancel context.CancelFunc
	ops    sync.WaitGroup // operations
	ready  chan struct{}  // closed once Run serves or has failed
}

// storageTimeout is how long an operation may wait for the storage.
const storageTimeout = 30 * time.Second

// phase is the phase of the life cycle of a Manager.
type phase uint8

const (
	idle phase = iota
	loading
	serving
	ended
)

// New checks the configuration. Nothing happens before Run.
func New(config Config) (*Manager, error) {
	config, err := config.filled()
	if err != nil {
		return nil, err
	}
	if config.Environment, err = config.Environment.Filled(); err != nil {
		return nil, err
	}
	sealer, err := newSealer(config.Secret)
	if err != nil {
		return nil, err
	}
	var members *fleet.Fleet
	if config.Shared && config.Documents != nil {
		members = fleet.New(fleet.Config{
			Documents: config.Documents, Instance: config.Instance, Logger: config.Logger,
			LeaseDuration: config.LeaseDuration, Poll: config.PollInterval, Restoring: config.RestoreStopped,
		})
		config.Permit = members.Permit
	}
	m := &Manager{
		config: config, channels: newRegistry(), fleet: members,
		annotations: &Annotations{config.Documents},
		history:     history.New(nil),
		ready:       make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.records = &records{
		documents: config.Documents, forms: channelform.New(config.Drivers), sealer: sealer,
		env: config.Environment, log: config.Logger, fleet: m.fleet,
	}
	m.runner = newRunner(m.ctx, &m.config, m.channels, m.fleet)
	if m.fleet != nil {
		m.reconciler = &reconciler{
			config: &m.config, channels: m.channels, records: m.records, runner: m.runner, fleet: m.fleet,
		}
	}
	return m, nil
}

// Run reads the stored channels, starts those that should run, and serves
// until ctx ends; then it stops all channels within Config.MaxShutdown. It
// returns an error when the storage cannot be read, ErrInstanceTaken, and one
// that says what was left unfinished. It can be called once.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	if m.phase != idle {
		m.mu.Unlock()
		return errors.New("manager: Manager.Run was called before")
	}
	m.phase = loading
	m.mu.Unlock()

	err := m.records.load(ctx, m.channels, m.fleet == nil && m.config.RestoreStopped)
	var membership *fleet.Membership
	if err == nil && m.fleet != nil {
		membership, err = m.fleet.Enter(ctx, m.runner)
		err = m.instanceTaken(err)
	}
	if err != nil {
		m.setPhase(ended, err)
		close(m.ready)
		m.cancel()
		return fmt.Errorf("restore channels: %w", err)
	}
	for _, e := range m.channels.all() {
		if m.fleet == nil && e.wanted() {
			m.runner.keep(e)
		}
	}
	m.setPhase(serving, nil)
	close(m.ready)
	m.runner.tasks.Go(func() { watch(m.ctx, m.history, m.Stats) })
	if membership != nil {
		return m.runShared(ctx, membership)
	}
	<-ctx.Done()
	return m.shutDown()
}

// runShared serves beside other instances until ctx ends, or until the lease
// cannot be had.
func (m *Manager) runShared(ctx context.Context, membership *fleet.Membership) error {
	hold, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	held := make(chan error, 1)
	go func() { held <- membership.Hold(hold) }()
	m.runner.tasks.Go(func() { m.reconciler.run(m.ctx) })
	var err error
	lost := false
	select {
	case <-ctx.Done():
	case err = <-held:
		lost, err = true, m.instanceTaken(err)
		m.setPhase(serving, err)
	}
	err = errors.Join(err, m.shutDown())
	end()
	if !lost {
		<-held
	}
	membership.Resign()
	return err
}

// instanceTaken returns an error of the fleet as one that matches
// ErrInstanceTaken, where it is that.
func (m *Manager) instanceTaken(err error) error {
	if errors.Is(err, fleet.ErrInstanceTaken) {
		return fmt.Errorf("join as instance %q: %w", m.config.Instance, ErrInstanceTaken)
	}
	return err
}

func (m *Manager) setPhase(p phase, fatal error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase, m.fatal = p, errors.Join(m.fatal, fatal)
}

// shutDown stops everything. The stored status of the channels stays.
func (m *Manager) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.config.MaxShutdown)
	defer cancel()
	m.setPhase(ended, nil)
	m.cancel()
	m.ops.Wait()
	m.runner.tasks.Wait()
	return m.runner.stopAll(ctx)
}

// Ready is closed once Run has read the stored channels, or has failed; see Err.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

// Err returns nil while the manager serves, and otherwise why it does not:
// ErrNotRunning, or the error that ended Run.
func (m *Manager) Err() error {
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

// Config returns the configuration with its defaults, and without the Secret.
func (m *Manager) Config() Config {
	c := m.config
	c.Secret = ""
	return c
}

// ReadChannel reads a channel in the JSON form of the REST interface. It ignores unknown
// members. The error names the member that cannot be read.
func (m *Manager) ReadChannel(data []byte) (ChannelConfig, error) {
	c, err := m.records.forms.Read(data)
	return newChannelConfig(c), err
}

// Annotations returns the stored mappings.
func (m *Manager) Annotations() *Annotations { return m.annotations }

// Get returns a channel with its current status.
func (m *Manager) Get(id string) (Channel, error) {
	e, err := m.channels.find(id)
	if err != nil {
		return Channel{}, err
	}
	return e.view(), nil
}

// All returns all channels with their current status, in the order of their identifiers. They
// are not copied: the caller must not change what their fields refer to.
func (m *Manager) All() iter.Seq[Channel] {
	return func(yield func(Channel) bool) {
		for _, e := range m.channels.visible() {
			if !yield(e.share()) {
				return
			}
		}
	}
}

// Stats returns the counts of all channels by identifier.
func (m *Manager) Stats() map[string]annotate.Stats {
	stats := map[string]annotate.Stats{}
	for _, e := range m.channels.visible() {
		if e.channel != nil {
			stats[e.id] = e.channel.Stats()
		}
	}
	return stats
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

// StorageErr returns why a shared storage cannot be read; nil when it can, or is not shared.
func (m *Manager) StorageErr() error {
	if m.fleet == nil {
		return nil
	}
	return m.fleet.Fault()
}
