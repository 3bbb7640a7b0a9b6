package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/internal/version"
)

const (
	// reloadPatience is how long the parts may take for reading their files again.
	reloadPatience = 10 * time.Second
	// stopPatience is what a service manager grants the parts for stopping, besides the delay
	// of draining.
	stopPatience = time.Minute
)

// process is what [Flags.Serve] gives to the parts of a command, in the context: what is
// measured of all of them, and what the service manager and signals want of them. The nil
// process, of a context that has none, wants nothing.
type process struct {
	flags       *Flags
	log         *slog.Logger
	manager     *manager
	instruments httpapi.Instruments
	provider    trace.TracerProvider // nil is off
	access      *AccessLog           // nil is off
	hangups     chan os.Signal
	delay       time.Duration
	draining    atomic.Bool
}

// processKey is the key of the process in a context.
type processKey struct{}

// contextProcess returns the process of a context, nil without.
func contextProcess(ctx context.Context) *process {
	p, _ := ctx.Value(processKey{}).(*process)
	return p
}

// TracerProvider returns the provider of traces of a command that [Flags.Serve] runs, nil
// while nothing is traced.
func TracerProvider(ctx context.Context) trace.TracerProvider {
	if p := contextProcess(ctx); p != nil {
		return p.provider
	}
	return nil
}

// AccessLogOf returns the access log of a command that [Flags.Serve] runs, nil without one.
func AccessLogOf(ctx context.Context) *AccessLog {
	if p := contextProcess(ctx); p != nil {
		return p.access
	}
	return nil
}

// newProcess returns the process of a command, and its context. From now on a SIGHUP does not
// end the process.
func newProcess(ctx context.Context, f *Flags, log *slog.Logger, provider trace.TracerProvider) (context.Context, *process) {
	p := &process{flags: f, log: log, provider: provider, manager: newManager(log),
		delay: time.Duration(f.drainDelay), hangups: make(chan os.Signal, 1)}
	p.instruments = httpapi.Instruments{Command: f.Name(), Version: version.String(), Traffic: &httpapi.Traffic{},
		Tracer: tracing.New(provider, "http"), Draining: p.draining.Load}
	signal.Notify(p.hangups, syscall.SIGHUP)
	return httpapi.WithInstruments(context.WithValue(ctx, processKey{}, p), &p.instruments), p
}

// close lets SIGHUP end the process again.
func (p *process) close() { signal.Stop(p.hangups) }

// serve returns when ctx ends, after the delay of draining, or when a part ends. Until then
// it reads files again at each SIGHUP, and says to the service manager that the parts work.
func (p *process) serve(ctx context.Context, parts []*runningPart, ended <-chan struct{}) {
	if p == nil {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		return
	}
	p.manager.say(stateReady, "STATUS=serving")
	defer p.manager.say(stateStopping, "STATUS=stopping")
	beats, stop := p.manager.beats()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			p.drain(ctx, parts, ended, beats)
			return
		case <-ended:
			return
		case <-p.hangups:
			p.reload(ctx, parts)
		case <-beats:
			p.beat(ctx, parts)
		}
	}
}

// drain says that the process is about to stop, and waits so that balancers notice it.
func (p *process) drain(ctx context.Context, parts []*runningPart, ended <-chan struct{}, beats <-chan time.Time) {
	p.draining.Store(true)
	if p.delay == 0 {
		return
	}
	p.manager.say(stateStopping, extension(p.delay+stopPatience), "STATUS=draining")
	p.log.Info("not ready any more; requests are answered until the delay is over", "delay", p.delay)
	over := time.NewTimer(p.delay)
	defer over.Stop()
	for {
		select {
		case <-over.C:
			return
		case <-ended:
			return
		case <-beats:
			p.beat(ctx, parts)
		}
	}
}

// reload reads again what can be read again, and logs what was and what was not.
func (p *process) reload(ctx context.Context, parts []*runningPart) {
	p.manager.reloading()
	defer p.manager.say(stateReady, "STATUS=serving")
	ctx, cancel := context.WithTimeout(ctx, reloadPatience)
	defer cancel()
	reloaded, restart, err := p.flags.reload()
	if err != nil {
		p.log.Error("reload failed; what was read before holds", "error", err)
	}
	for _, r := range parts {
		if r.Reload == nil {
			continue
		}
		if err := r.Reload(ctx); err != nil {
			p.log.Error("reload failed; what was read before holds", "part", r.Name, "error", err)
			continue
		}
		reloaded = append(reloaded, r.Name)
	}
	p.log.Info("reloaded; other settings, of flags and environment too, want a restart", "what", strings.Join(reloaded, ", "))
	if len(restart) > 0 {
		p.log.Warn("settings have changed in the file of -config that want a restart", "settings", strings.Join(restart, ", "))
	}
}

// beat says to the service manager that the process works, if its parts do.
func (p *process) beat(ctx context.Context, parts []*runningPart) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.manager.interval/2) // the stop is not a fault
	defer cancel()
	for _, r := range parts {
		if r.Healthy == nil {
			continue
		}
		if err := r.Healthy(ctx); err != nil {
			p.log.Error("a part does not work; the watchdog of the service manager gets no sign of life",
				"part", r.Name, "error", err)
			return
		}
	}
	p.manager.say(stateAlive)
}

// Lifecycle declares the flag drain-delay.
func (f *Flags) Lifecycle() {
	f.Var(&f.drainDelay, "drain-delay", "`how long` requests are still answered after the signal to stop, while /readyz says "+
		"that the server is not ready and connections are closed after their answers, so that balancers send it no new ones")
}

// positiveDuration is a time of 0 or more as a flag.
type positiveDuration time.Duration

// String implements flag.Value.
func (d *positiveDuration) String() string { return time.Duration(*d).String() }

// Set implements flag.Value.
func (d *positiveDuration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("expected a time such as 15s")
	case value < 0:
		return fmt.Errorf("expected 0 or more, got %v", value)
	}
	*d = positiveDuration(value)
	return nil
}
