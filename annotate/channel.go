package annotate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/tracing"
)

// Channel annotates the messages of one input topic and publishes them on one
// output topic, in order of arrival and at least once: a message is
// acknowledged only after its output was confirmed, or after its failure was
// logged and, where the error topic is on, reported there. A message that
// yields no statements is published nevertheless, as an empty document, so that
// every message that was received is accounted for by one that is published.
//
// A Channel is created by [NewChannel], runs between Start and Stop, and may do
// so again and again. All methods are safe for concurrent use.
type Channel struct {
	env     Environment
	mapping atomic.Pointer[compiledMapping] // what messages that arrive now are mapped by
	key     []byte                          // record key of messages that came without one
	log     *slog.Logger
	// tracer creates the spans of messages; nil is off.
	tracer *tracing.Tracer

	counters counters
	failures failures      // the newest
	warned   failures      // the newest that were published with a warning
	lifeline chan struct{} // capacity 1: held while the channel is started, stopped or switched

	mu        sync.Mutex
	config    ChannelConfig // changes while it is stopped, apart from its mapping
	run       *pipeline     // nil while stopped
	off       OptionalTopics
	err       error // why it stopped by itself, or could not start
	closed    bool
	enders    int                // how many calls stop it, or wait to
	interrupt context.CancelFunc // of the Start or SetTopics that is running; nil while none is
}

// Status is the state of a channel.
type Status struct {
	// Stopped is true for a channel that does not run.
	Stopped bool
	// Off are the optional topics that are switched off.
	Off OptionalTopics
	// Err is why the channel stopped by itself or could not start, or what it
	// waits for; nil when all is well.
	Err error
}

// NewChannel checks the configuration, completes it and compiles its mapping.
// It connects to nothing: Start does. Errors about the configuration are a
// [*FieldError]; errors about a mapping that cannot serve a channel match
// [ErrMapping].
func NewChannel(config ChannelConfig, env Environment) (*Channel, error) {
	env, err := env.Filled()
	if err != nil {
		return nil, err
	}
	config = env.complete(config)
	if err := env.check(&config); err != nil {
		return nil, err
	}
	if config.ExactlyOnce {
		if _, err := env.transactor(&config.Input); err != nil {
			return nil, &FieldError{"settings.exactlyOnce", err.Error()}
		}
	}
	mapping, err := env.compile(config.Mapping, config.Dialect, &config.Output)
	if err != nil {
		return nil, err
	}
	c := &Channel{
		env:      env,
		config:   config,
		key:      []byte(config.ID),
		log:      env.Logger.With("channel", config.ID),
		tracer:   tracing.New(env.TracerProvider, "annotate"),
		lifeline: make(chan struct{}, 1),
		off:      config.Off,
	}
	c.counters.latency.bounds = latencyBounds()
	logFindings(c.log, mapping.plan)
	c.mapping.Store(mapping)
	return c, nil
}

// ID returns the channel's identifier.
func (c *Channel) ID() string { return c.config.ID }

// Config returns the configuration with every optional value filled in, and
// with the optional topics that are switched off now. The caller may change it.
func (c *Channel) Config() ChannelConfig {
	c.mu.Lock()
	defer c.mu.Unlock()
	config := c.config.Clone()
	config.Off = c.off
	return config
}

// CheckMapping returns nil if the mapping can take the place of the channel's,
// and otherwise the error that SetMapping would return.
func (c *Channel) CheckMapping(m Mapping) error {
	_, err := c.env.compile(m, c.Config().Dialect, &c.config.Output)
	return err
}

// SetMapping replaces the mapping, while the channel runs or is stopped. Each
// message is mapped once: messages that arrived before the change by the old
// mapping, later ones by the new one. For a mapping that does not suit the
// channel it returns a [*FieldError] or an error that matches [ErrMapping], and
// the old mapping stays.
func (c *Channel) SetMapping(m Mapping) error {
	mapping, err := c.env.compile(m, c.Config().Dialect, &c.config.Output)
	if err != nil {
		return err
	}
	logFindings(c.log, mapping.plan)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config.Mapping = m
	c.mapping.Store(mapping)
	return nil
}

// logFindings logs what looks wrong about a mapping that is used nevertheless.
func logFindings(log *slog.Logger, plan *rml.Plan) {
	for _, finding := range plan.Lint() {
		log.Warn("the mapping may contain a mistake", "finding", finding.String())
	}
}

// Status returns whether the channel runs, which optional topics are off, and
// what is wrong, if anything.
func (c *Channel) Status() Status {
	c.mu.Lock()
	run, status := c.run, Status{Stopped: c.run == nil, Off: c.off, Err: c.err}
	c.mu.Unlock()
	if run != nil {
		status.Err = run.health()
	}
	return status
}

// Start connects to the brokers of all topics that are on, all or none, and
// begins. When it returns nil the channel is subscribed. It does nothing for a
// channel that runs. Stop and Close interrupt it.
func (c *Channel) Start(ctx context.Context) error {
	ctx, release, err := c.occupy(ctx)
	if err != nil {
		return c.failed("start", err)
	}
	defer release()
	c.mu.Lock()
	running := c.run != nil
	closed := c.closed
	off := c.off
	c.mu.Unlock()
	switch {
	case closed:
		return c.failed("start", ErrClosed)
	case running:
		return nil
	}
	p, err := c.open(ctx, off)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	if err != nil {
		return c.failed("start", err)
	}
	c.run = p
	p.run()
	return nil
}

// Stop receives no further messages, finishes those it has, and disconnects;
// the broker keeps the subscription for the next Start. When ctx ends first,
// what is unfinished is left for redelivery and the error has their number; the
// channel is stopped in any case. A ctx without a deadline gets
// Environment.DrainTimeout. It does nothing for a channel that is stopped.
func (c *Channel) Stop(ctx context.Context) error { return c.end(ctx, false) }

// Forget stops the channel and removes its subscription from the broker, with
// what the broker keeps for it. It is for a channel that will not come back.
func (c *Channel) Forget(ctx context.Context) error { return c.end(ctx, true) }

// Close stops the channel without finishing what it has, which is left for
// redelivery, and waits for all that belongs to it. The channel cannot be
// started again. A second Close returns nil.
func (c *Channel) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	defer c.ending()()
	c.lifeline <- struct{}{}
	defer c.release()
	if p := c.pipeline(); p != nil {
		p.end(ctx, false)
	}
	return nil
}

// Wait blocks until the channel is stopped. It returns nil when Stop did that,
// why it stopped by itself or could not start otherwise, and the context's error when that ends
// first.
func (c *Channel) Wait(ctx context.Context) error {
	if p := c.pipeline(); p != nil {
		select {
		case <-p.finished:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// SetTopics switches the optional topics, off those that are selected and on
// the others. It loses no message of the stream. An error leaves that topic as
// it was. Stop and Close interrupt it.
func (c *Channel) SetTopics(ctx context.Context, off OptionalTopics) error {
	ctx, release, err := c.occupy(ctx)
	if err != nil {
		return c.failed("switch topics", err)
	}
	defer release()
	connect, cancel := context.WithTimeout(ctx, c.env.ConnectTimeout)
	defer cancel()
	return errors.Join(
		c.setTopic(c.config.Error, off.Error, &c.off.Error, func(p *pipeline, on bool) error {
			return p.switchErrors(connect, on)
		}),
		c.setTopic(c.config.MonitorInput, off.MonitorInput, &c.off.MonitorInput, func(p *pipeline, on bool) error {
			return p.switchMonitor(connect, &p.noteIn, c.config.MonitorInput, on)
		}),
		c.setTopic(c.config.MonitorOutput, off.MonitorOutput, &c.off.MonitorOutput, func(p *pipeline, on bool) error {
			return p.switchMonitor(connect, &p.noteOut, c.config.MonitorOutput, on)
		}),
	)
}

// setTopic switches one topic. The lifeline is held.
func (c *Channel) setTopic(topic *Topic, off bool, isOff *bool, apply func(p *pipeline, on bool) error) error {
	c.mu.Lock()
	run, same := c.run, *isOff == off
	c.mu.Unlock()
	if topic == nil || same {
		return nil
	}
	if run != nil {
		if err := apply(run, !off); err != nil {
			return c.failed("switch topic "+topic.Name+" of", err)
		}
	}
	c.mu.Lock()
	*isOff = off
	c.mu.Unlock()
	return nil
}

// end stops the pipeline, if there is one.
func (c *Channel) end(ctx context.Context, forget bool) error {
	verb := "stop"
	if forget {
		verb = "remove"
	}
	defer c.ending()()
	if err := c.hold(ctx); err != nil {
		return c.failed(verb, err)
	}
	defer c.release()
	if _, limited := ctx.Deadline(); !limited {
		limit, cancel := context.WithTimeout(ctx, c.env.DrainTimeout)
		defer cancel()
		ctx = limit
	}
	var err error
	forgotten := false
	if p := c.pipeline(); p != nil {
		forgotten = p.end(ctx, forget) && forget
		err = p.err
	}
	if forget && !forgotten {
		err = errors.Join(err, c.forgetStopped(ctx))
	}
	c.mu.Lock()
	c.err = nil
	c.mu.Unlock()
	if err != nil {
		return c.failed(verb, err)
	}
	return nil
}

// forgetStopped removes the subscription of a channel that is not connected.
func (c *Channel) forgetStopped(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.env.ConnectTimeout)
	defer cancel()
	input := c.input()
	b, err := c.env.broker(&input)
	if err != nil {
		return err
	}
	sub, err := b.Subscribe(ctx, input, c.options(1))
	if err != nil {
		return fmt.Errorf("remove subscription of topic %q: %w", input.Name, err)
	}
	return sub.Forget(ctx)
}

// ended is called by a pipeline that is about to be finished.
func (c *Channel) ended(p *pipeline, asked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.reconnects.Add(p.reconnects())
	if c.run == p {
		c.run = nil
	}
	c.err = nil
	if !asked {
		c.err = p.err
	}
}

func (c *Channel) pipeline() *pipeline {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

// hold waits until no other call starts, stops or switches the channel. When none does, it
// succeeds even if ctx has ended: Stop stops the channel in any case.
func (c *Channel) hold(ctx context.Context) error {
	select {
	case c.lifeline <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.lifeline <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Channel) release() { <-c.lifeline }

// occupy is hold for calls that Stop and Close interrupt: the context that it
// returns ends when they are called, because a broker may not answer.
func (c *Channel) occupy(ctx context.Context) (context.Context, func(), error) {
	if err := c.hold(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.interrupt = cancel
	if c.enders > 0 {
		cancel()
	}
	c.mu.Unlock()
	return ctx, func() {
		c.mu.Lock()
		c.interrupt = nil
		c.mu.Unlock()
		cancel()
		c.release()
	}, nil
}

// ending interrupts the call that occupies the channel, until the function that it
// returns is called.
func (c *Channel) ending() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enders++
	if c.interrupt != nil {
		c.interrupt()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enders--
	}
}

// keyFor returns the record key of an output: that of its input, or the
// channel's identifier.
func (c *Channel) keyFor(input []byte) []byte {
	if input != nil {
		return input
	}
	return c.key
}

func (c *Channel) failed(verb string, err error) error {
	return fmt.Errorf("%s channel %q: %w", verb, c.ID(), err)
}
