package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
)

// runner starts, keeps and stops the channels that run in this instance.
type runner struct {
	config   *Config
	channels *registry
	fleet    *fleet.Fleet // nil when the storage is not shared

	ctx      context.Context // ends with the service
	starting chan struct{}   // bounds the channels that connect at once
	tasks    sync.WaitGroup
}

func newRunner(ctx context.Context, config *Config, channels *registry, f *fleet.Fleet) *runner {
	const startsAtOnce = 16
	return &runner{config: config, channels: channels, fleet: f, ctx: ctx, starting: make(chan struct{}, startsAtOnce)}
}

// keep ensures, from now until the channel is stopped or removed or this
// instance has no right to it any more, that it runs. The caller holds the
// entry's turn or is Run; there is one keeper of an entry at most.
func (r *runner) keep(e *entry) {
	tenure, _ := r.rights(e)
	ctx, cancel := context.WithCancel(r.ctx)
	unlink := context.AfterFunc(tenure, cancel)
	k := &keeper{cancel}
	e.startKeeping(k)
	r.tasks.Go(func() {
		defer unlink()
		defer e.unkept(k)
		pause := r.config.RetryMin
		for failed := false; r.revive(ctx, e, failed); failed = true {
			since := time.Now()
			err := e.channel.Wait(ctx)
			if ctx.Err() != nil || err == nil {
				return
			}
			// A channel that fails soon is started again after growing pauses.
			if time.Since(since) > r.config.RetryMax {
				pause = r.config.RetryMin
			}
			r.config.Logger.Error("channel failed, will be started again", "channel", e.id, "pause", pause, "error", err)
			if !fleet.Sleep(ctx, pause) {
				return
			}
			pause = r.longer(pause)
		}
	})
}

// longer is the pause after a pause.
func (r *runner) longer(pause time.Duration) time.Duration {
	return min(2*pause, r.config.RetryMax)
}

// revive starts the channel, as often as it takes; failed says that it ran and has failed. It
// reports false when the channel is not to run any more.
func (r *runner) revive(ctx context.Context, e *entry, failed bool) bool {
	for pause := r.config.RetryMin; ; pause = r.longer(pause) {
		err := r.startKept(ctx, e)
		if err == nil {
			if failed {
				r.config.Logger.Info("channel started again", "channel", e.id)
			}
			return true
		}
		failed = true
		if errors.Is(err, errUnwanted) || ctx.Err() != nil {
			return false
		}
		r.config.Logger.Warn("channel not started, will be tried again", "channel", e.id, "pause", pause, "error", err)
		if !fleet.Sleep(ctx, pause) {
			return false
		}
	}
}

// Reasons why a channel is not started.
var (
	errUnwanted  = errors.New("annotate: channel is not to run")
	errNotJoined = errors.New("annotate: waits until an earlier lease of this instance has run out")
	errNoRight   = errors.New("annotate: another instance may run the channel, because this one could not reach the storage")
)

// startKept starts a channel that should run, in its turn.
func (r *runner) startKept(ctx context.Context, e *entry) error {
	select {
	case r.starting <- struct{}{}:
		defer func() { <-r.starting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.take(ctx); err != nil {
		return err
	}
	defer e.give()
	if ctx.Err() != nil || !e.wanted() {
		return errUnwanted
	}
	return r.start(ctx, e)
}

// rights returns the contexts of a channel that runs here: the first ends when
// it must begin to stop, the second when it must be stopped.
func (r *runner) rights(e *entry) (tenure, limit context.Context) {
	if e.fleet == nil || e.settings().Distributed {
		return r.ctx, context.Background()
	}
	return e.fleet.Rights()
}

// mayStart returns nil if a channel may be started here now. When the lease has
// run out and there is no other instance, channels continue, but do not start:
// a channel that lost its session to an instance which this one cannot see does
// not take the session back.
func (r *runner) mayStart(e *entry) error {
	switch {
	case e.fleet == nil:
		return nil
	case e.fleet.Session() == "":
		return errNotJoined
	case e.settings().Distributed:
		return nil
	case e.standing() != mine || !e.fleet.Fresh():
		return errNoRight
	}
	return nil
}

// start starts the channel. The entry's turn is held.
func (r *runner) start(ctx context.Context, e *entry) error {
	tenure, _ := r.rights(e)
	err := r.mayStart(e)
	if err == nil {
		ctx, cancel := context.WithCancel(ctx)
		unlink := context.AfterFunc(tenure, cancel)
		if err = r.applyEdits(ctx, e); err == nil {
			err = e.channel.Start(ctx)
		}
		unlink()
		cancel()
	}
	if err == nil && tenure.Err() != nil && r.ctx.Err() == nil {
		// The right ended when the channel was all but started.
		r.stop(tenure, e)
		err = errNoRight
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = ""
	if err != nil {
		e.fault = err.Error()
		return err
	}
	e.used = true
	e.fleet.Look() // to report it
	return nil
}

// stop stops the channel. An error goes to the log: the channel is stopped
// nevertheless, and what it did not finish is delivered again.
func (r *runner) stop(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, r.config.MaxShutdown)
	defer cancel()
	if err := r.stopInTime(ctx, e); err != nil {
		r.config.Logger.Warn("channel stopped, messages are unfinished", "channel", e.id, "error", err)
	}
}

// stopInTime stops the channel before this instance's right to it ends.
func (r *runner) stopInTime(ctx context.Context, e *entry) error {
	_, limit := r.rights(e)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(limit, cancel)()
	return e.channel.Stop(ctx)
}

// stopAll stops and closes all channels.
func (r *runner) stopAll(ctx context.Context) error {
	var entries []*entry
	r.channels.each(func(e *entry) {
		if e.channel != nil {
			entries = append(entries, e)
		}
	})
	errs := make([]error, len(entries))
	var stops sync.WaitGroup
	for i, e := range entries {
		stops.Go(func() { errs[i] = errors.Join(r.stopInTime(ctx, e), e.channel.Close()) })
	}
	stops.Wait()
	return errors.Join(errs...)
}

// StopLeased stops all channels that run by the lease, until the deadline. It
// implements fleet.Channels.
func (r *runner) StopLeased(deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	var stops sync.WaitGroup
	for _, e := range r.channels.all() {
		if e.channel == nil || e.settings().Distributed {
			continue
		}
		stops.Go(func() {
			if err := e.channel.Stop(ctx); err != nil {
				r.config.Logger.Warn("channel stopped, messages are unfinished", "channel", e.id, "error", err)
			}
		})
	}
	stops.Wait()
}

// forget stops a channel and removes its subscription from the broker. Errors go
// to the log: the channel is removed nevertheless.
func (r *runner) forget(ctx context.Context, e *entry) {
	e.stopKeeping()
	e.mu.Lock()
	used := e.used
	e.mu.Unlock()
	if e.channel == nil || !used {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.MaxShutdown)
	defer cancel()
	if err := e.channel.Forget(ctx); err != nil {
		r.config.Logger.Warn("channel removed, clean-up is incomplete", "channel", e.id, "error", err)
	}
}

// reconfigure stops a channel, and gives it its stored configuration. The subscription of
// a channel that runs here stays at the broker, unless it becomes another one. The caller holds
// the entry's turn.
func (r *runner) reconfigure(ctx context.Context, e *entry) error {
	e.stopKeeping()
	if e.standing() == mine && r.leaves(e, r.config.Complete(e.settings())) {
		r.forget(ctx, e)
	} else {
		r.stop(ctx, e)
	}
	e.setFault("")
	return r.applyEdits(ctx, e)
}

// applyEdits gives a channel that is stopped its stored configuration, unless it has it.
func (r *runner) applyEdits(ctx context.Context, e *entry) error {
	e.mu.Lock()
	next := e.config.Clone()
	edits := e.config.Edits
	isNew := e.config.Edits != e.edits
	e.mu.Unlock()
	if !isNew {
		return nil
	}
	err := e.channel.SetConfig(ctx, r.config.Complete(next))
	if err != nil && ctx.Err() != nil {
		return err // it was not tried; the next start does it
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.edits = edits
	return err
}

// leaves reports whether a channel with another configuration leaves its subscription, at the
// broker where that is, for another one.
func (r *runner) leaves(e *entry, next annotate.ChannelConfig) bool {
	now := e.channel.Config()
	return !e.channel.KeepsSubscription(next) && brokerAddress(now.Input.Settings) == brokerAddress(next.Input.Settings)
}

// brokerAddress returns where the subscription of an input is, by the members that say so.
func brokerAddress(s annotate.Settings) string {
	var a struct {
		Protocol, Host string
		Port           int
	}
	if text, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(text, &a) // settings of another form have no address
	}
	return fmt.Sprintf("%s://%s:%d", a.Protocol, a.Host, a.Port)
}

// abandon stops and drops a channel that is no longer stored.
func (r *runner) abandon(ctx context.Context, e *entry) {
	e.setRemoved()
	e.stopKeeping()
	if e.channel != nil {
		r.stop(ctx, e)
		_ = e.channel.Close() // it is stopped already
	}
	r.channels.drop(e)
}
