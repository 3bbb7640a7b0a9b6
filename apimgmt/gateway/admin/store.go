package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/storage"
)

// ErrBusy means that others changed the configuration again and again while a change
// was being made. Nothing was changed; try again.
var ErrBusy = errors.New("admin: configuration is being changed by others")

// StoreConfig configures a [Store].
type StoreConfig struct {
	// Gateway serves the configuration. It is required, and its configuration is the
	// store's from then on: what others apply to it is lost at the next change.
	Gateway *gateway.Gateway
	// Documents keep the configuration. They are required, and the store's alone; see
	// storage.Prefixed. Secrets of plugins and consumers' keys lie there in the clear.
	Documents storage.Documents
	// Interval is how long it takes at most, besides the time of reading, until what
	// another process has stored is served by this one. Zero means 2 seconds.
	Interval time.Duration
	// Logger receives failures and warnings for operators. Nil is silent.
	Logger *slog.Logger
}

// Store keeps the configuration of a gateway in documents. What a method has
// acknowledged is stored, and is served again after a crash; what could not be
// stored is not served.
//
// Any number of processes may share the documents: changes are made by compare and
// set, so that none is lost, and [Store.Run] has each process serve what the others
// have stored within [StoreConfig.Interval].
//
// A Store is safe for concurrent use.
type Store struct {
	gateway  *gateway.Gateway
	record   *record
	interval time.Duration
	logger   *slog.Logger
	traffic  *recorder

	turn  chan struct{} // is full while the state is changed
	state atomic.Pointer[state]
	fault atomic.Pointer[error] // of the last look at what is stored; nil if there was none
}

// state is a configuration that is stored and served. It is never changed.
type state struct {
	normal   entity.Normal
	config   entity.Config // of normal, which shares it
	head     head
	revision storage.Revision
}

// attempts is how often a change is tried that conflicts with those of other writers.
const attempts = 20

// Open returns a store, and has the gateway serve what is stored. A configuration
// that the gateway does not take, as it lacks a kind of plugin, is an error: it is
// not served in part.
func Open(ctx context.Context, config StoreConfig) (*Store, error) {
	switch {
	case config.Gateway == nil:
		return nil, errors.New("admin: StoreConfig.Gateway: is required")
	case config.Documents == nil:
		return nil, errors.New("admin: StoreConfig.Documents: are required")
	case config.Interval < 0:
		return nil, fmt.Errorf("admin: StoreConfig.Interval: %v is negative", config.Interval)
	}
	s := &Store{
		gateway:  config.Gateway,
		record:   &record{docs: config.Documents, piece: pieceSize},
		interval: cmp.Or(config.Interval, 2*time.Second),
		logger:   config.Logger,
		traffic:  newRecorder(config.Gateway),
		turn:     make(chan struct{}, 1),
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := s.reload(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Publish serves the entities in place of those that owner had, all of them or
// none; an empty configuration withdraws. The owner is a tag, which the entities
// get. Publishing the same again changes nothing. A name that others have is an
// error that wraps entity.ErrConflict.
//
// An owner's entities may be changed by others, through the admin API or the page;
// publishing undoes that. What others have attached to entities that go is carried over, or
// is an error that wraps entity.ErrAttached, as entity.Config.Replace says.
func (s *Store) Publish(ctx context.Context, owner string, config entity.Config) error {
	if owner == "" {
		return errors.New("publish: owner: is empty")
	}
	_, err := s.edit(ctx, func(served entity.Normal) (entity.Normal, error) { return served.Replace(owner, config) })
	if err != nil {
		return fmt.Errorf("publish %q: %w", owner, err)
	}
	return nil
}

// Plan returns what Publish would change, or the error that it would return. Plugins are
// compiled as they are by Publish. Nothing changes.
func (s *Store) Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	if owner == "" {
		return entity.Plan{}, errors.New("publish: owner: is empty")
	}
	now, err := s.current(ctx)
	if err != nil {
		return entity.Plan{}, err
	}
	plan, next, err := now.normal.Plan(owner, config)
	if err == nil && len(plan.Changes) > 0 {
		err = notTaken(s.gateway.Check(next.Shared()))
	}
	if err != nil {
		return entity.Plan{}, fmt.Errorf("publish %q: %w", owner, err)
	}
	return plan, nil
}

// notTaken is the error of a configuration that the gateway does not take: an invalid one,
// unless the gateway is closed.
func notTaken(err error) error {
	if err == nil || errors.Is(err, gateway.ErrClosed) || errors.Is(err, entity.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %w", entity.ErrInvalid, err)
}

// Config returns the configuration that is stored, which the gateway serves as
// well when Config returns. It is normalised, and the caller's.
func (s *Store) Config(ctx context.Context) (entity.Config, error) {
	now, err := s.current(ctx)
	if err != nil {
		return entity.Config{}, err
	}
	return now.normal.Config(), nil
}

// Kinds returns the names of the plugins that configurations may have.
func (s *Store) Kinds(ctx context.Context) ([]string, error) { return s.gateway.Kinds(), ctx.Err() }

// Change replaces the configuration by the result of change, which is stored and then
// served. Changes are applied one after the other; change is called again if another process
// was faster. Its error is returned, and changes nothing. Times of creation and of change are
// the store's.
//
// After an error of the documents the outcome is unknown, as with any lost connection: what
// is stored is served, at the latest at the next use.
func (s *Store) Change(ctx context.Context, change func(entity.Config) (entity.Config, error)) error {
	_, err := s.change(ctx, change)
	return err
}

// change is Change, and returns what came of it.
func (s *Store) change(ctx context.Context, change func(entity.Config) (entity.Config, error)) (*state, error) {
	return s.edit(ctx, func(served entity.Normal) (entity.Normal, error) {
		next, err := change(served.Config())
		if err != nil {
			return entity.Normal{}, err
		}
		return served.With(next)
	})
}

// edit is change of configurations that share what stays.
func (s *Store) edit(ctx context.Context, change func(entity.Normal) (entity.Normal, error)) (*state, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	n := 0
	err := storage.Retry(ctx, func() (again bool, err error) {
		if n++; n > attempts {
			return false, ErrBusy
		}
		if err := s.refresh(ctx); err != nil {
			return false, err
		}
		err = s.try(ctx, change)
		return errors.Is(err, storage.ErrConflict), err
	})
	if err != nil {
		return nil, err
	}
	return s.state.Load(), nil
}

// try applies a change once. The caller has the turn.
func (s *Store) try(ctx context.Context, change func(entity.Normal) (entity.Normal, error)) error {
	now := s.state.Load()
	next, err := change(now.normal)
	if err != nil {
		return err
	}
	changes, err := now.normal.Diff(next)
	if err != nil || len(changes) == 0 {
		return err
	}
	next = next.Stamped(now.normal, changes, time.Now())
	made := &state{normal: next, config: next.Shared()}
	taken := false // by the gateway
	err = s.gateway.ApplyStored(next, func() error {
		taken = true
		made.head, made.revision, err = s.record.save(ctx, made.config, now.head, now.revision)
		return err
	})
	switch {
	case err == nil:
		// It is acknowledged, whatever becomes of the caller.
		s.state.Store(made)
		return nil
	case taken:
		return err
	}
	return notTaken(err)
}

// current returns what is stored, and serves it.
func (s *Store) current(ctx context.Context) (*state, error) {
	_, revision, err := s.record.head(ctx)
	if err != nil {
		return nil, err
	}
	if now := s.state.Load(); now.revision == revision {
		return now, nil
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s.state.Load(), nil
}

// refresh serves what is stored if that is not what is served. The caller has the turn.
func (s *Store) refresh(ctx context.Context) error {
	_, revision, err := s.record.head(ctx)
	if err != nil {
		return err
	}
	if revision == s.state.Load().revision {
		return nil
	}
	return s.reload(ctx)
}

// reload serves what is stored. The caller has the turn.
func (s *Store) reload(ctx context.Context) error {
	config, h, revision, err := s.record.load(ctx)
	if err != nil {
		return err
	}
	if now := s.state.Load(); revision == 0 && now != nil && now.revision != 0 {
		return fmt.Errorf("read stored configuration: it is gone: %w", ErrRecord)
	}
	var before entity.Normal
	if now := s.state.Load(); now != nil {
		before = now.normal
	}
	next, err := before.With(config)
	if err != nil {
		return fmt.Errorf("read stored configuration: %w", err)
	}
	if err := s.gateway.Load(next); err != nil {
		return fmt.Errorf("serve stored configuration: %w", err)
	}
	s.state.Store(&state{normal: next, config: next.Shared(), head: h, revision: revision})
	return nil
}

func (s *Store) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) leave() { <-s.turn }

// Ready returns nil if what is stored is served, by the last check of [Store.Run].
func (s *Store) Ready() error {
	if fault := s.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// Run serves what other processes store, until the context ends; it returns nil
// then. It also removes what was left behind by writers that crashed, and records the
// traffic for the page. What cannot be read, or is not taken by the gateway, is logged and
// tried again; what was served before is served on.
func (s *Store) Run(ctx context.Context) error {
	var recording sync.WaitGroup
	recording.Go(func() { s.traffic.run(ctx) })
	defer recording.Wait()
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	sweep := &sweeper{record: s.record}
	swept := time.Time{}
	for {
		_, err := s.current(ctx)
		if err == nil && (swept.IsZero() || time.Since(swept) >= sweepInterval) {
			swept = time.Now()
			err = sweep.run(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		before := s.fault.Load()
		switch {
		case err == nil:
			s.fault.Store(nil)
			if before != nil {
				s.logger.Info("the stored configuration is served again")
			}
		default:
			s.fault.Store(&err)
			if before == nil || (*before).Error() != err.Error() {
				s.logger.Error("the stored configuration is not served", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
