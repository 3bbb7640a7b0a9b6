package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Part is one of the things that a process runs.
type Part struct {
	// Name names the part in errors.
	Name string
	// Run blocks until the context ends or the part fails.
	Run func(context.Context) error
	// Ready returns nil as soon as the part can be used. A nil Ready means that it can
	// be used at once.
	Ready func() error
	// Announce is called when the part can be used, before the next one
	// starts. It may be nil.
	Announce func()
	// Reload reads the files of the part again, at a SIGHUP. While it cannot, what was read
	// before holds, and it returns why. It may be nil.
	Reload func(context.Context) error
	// Healthy returns nil if the part works, and otherwise or when the context ends an error:
	// the watchdog of a service manager then restarts the process. What the part needs of
	// other processes is not a reason for one. Nil means that the part works while it runs.
	Healthy func(context.Context) error
}

// Reloading returns the part that only reads files again, at a SIGHUP. It is named after them.
func Reloading(name string, reload func(context.Context) error) Part {
	return Part{Name: name, Reload: reload, Run: func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}}
}

// Run starts the parts one after the other, each when the one before is ready.
// When ctx ends, or a part ends by itself, it stops them in the opposite order,
// waiting for each, and returns their errors.
//
// In the context of [Flags.Serve] it also does what signals and the service manager want
// meanwhile, and drains before it stops.
func Run(ctx context.Context, parts ...Part) error {
	ended := make(chan struct{}, len(parts))
	var running []*runningPart
	usable := true
	for _, p := range parts {
		r := p.start(ctx, ended)
		running = append(running, r)
		if usable = r.awaitReady(ctx, ended); !usable {
			break
		}
		if p.Announce != nil {
			p.Announce()
		}
	}
	if usable {
		contextProcess(ctx).serve(ctx, running, ended)
	}
	var errs []error
	for _, r := range slices.Backward(running) {
		errs = append(errs, r.stop())
	}
	return errors.Join(errs...)
}

type runningPart struct {
	Part
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid when done is closed
}

// start runs the part with a context of its own: the part stops in its turn, and not when
// the signal comes.
func (p Part) start(ctx context.Context, ended chan<- struct{}) *runningPart {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &runningPart{Part: p, cancel: cancel, done: make(chan struct{})}
	go func() {
		r.err = p.Run(ctx)
		close(r.done)
		ended <- struct{}{}
	}()
	return r
}

// awaitReady reports whether the part is ready; it is not when ctx or any part
// ends before.
func (r *runningPart) awaitReady(ctx context.Context, ended <-chan struct{}) bool {
	if r.Ready == nil {
		return true
	}
	const pause = 2 * time.Millisecond
	for r.Ready() != nil {
		select {
		case <-ctx.Done():
			return false
		case <-ended:
			return false
		case <-time.After(pause):
		}
	}
	return true
}

func (r *runningPart) stop() error {
	r.cancel()
	<-r.done
	if r.err == nil || errors.Is(r.err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("%s: %w", r.Name, r.err)
}
