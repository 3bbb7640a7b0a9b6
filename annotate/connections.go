package annotate

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// open connects everything that a run of the channel needs, all or nothing.
// The subscription comes last, when its messages can go somewhere.
func (c *Channel) open(ctx context.Context, off OptionalTopics) (*pipeline, error) {
	ctx, cancel := context.WithTimeout(ctx, c.env.ConnectTimeout)
	defer cancel()
	p := newPipeline(c)
	s := &c.config
	group, groupCtx := errgroup.WithContext(ctx)
	if !s.ExactlyOnce {
		group.Go(func() error {
			out, err := c.connect(groupCtx, &s.Output)
			if err != nil {
				return fmt.Errorf("output: %w", err)
			}
			p.out = out
			return nil
		})
	}
	if s.Error != nil && !off.Error {
		group.Go(func() error { return p.switchErrors(groupCtx, true) })
	}
	if s.MonitorInput != nil && !off.MonitorInput {
		group.Go(func() error { return p.switchMonitor(groupCtx, &p.noteIn, s.MonitorInput, true) })
	}
	if s.MonitorOutput != nil && !off.MonitorOutput {
		group.Go(func() error { return p.switchMonitor(groupCtx, &p.noteOut, s.MonitorOutput, true) })
	}
	err := group.Wait()
	switch {
	case err != nil:
	case s.ExactlyOnce:
		p.sub, p.out, err = c.transact(ctx)
	default:
		p.sub, err = c.subscribe(ctx)
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

func (c *Channel) subscribe(ctx context.Context) (Subscription, error) {
	input := c.input()
	b, err := c.env.broker(&input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	sub, err := b.Subscribe(ctx, input, c.options(c.env.window(&c.config)))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return sub, nil
}

// input is the input topic as it is subscribed to: that of a distributed
// channel is shared with other instances.
func (c *Channel) input() Topic {
	input := c.config.Input
	if !c.config.Distributed {
		return input
	}
	if d, ok := c.env.driver(input.Broker).Settings.(DistributedDriver); ok {
		return d.Distribute(input, c.ID())
	}
	return input
}

// transact connects both ends of a channel that works exactly once.
func (c *Channel) transact(ctx context.Context) (Subscription, Publisher, error) {
	s := &c.config
	b, err := c.env.transactor(&s.Input)
	if err != nil {
		return nil, nil, err
	}
	sub, out, err := b.Transact(ctx, s.Input, s.Output, c.options(c.env.window(&c.config)))
	if err != nil {
		return nil, nil, fmt.Errorf("input and output: %w", err)
	}
	return sub, out, nil
}

// connect connects for publishing to a topic.
func (c *Channel) connect(ctx context.Context, topic *Topic) (Publisher, error) {
	b, err := c.env.broker(topic)
	if err != nil {
		return nil, err
	}
	return b.Connect(ctx, *topic, c.options(c.env.window(&c.config)))
}

// options are those of one of the channel's connections.
func (c *Channel) options(window int) ConnectOptions {
	opts := ConnectOptions{Window: window}
	if c.config.Distributed {
		opts.Instance = c.env.Instance
	} else if c.env.Permit != nil {
		opts.Member, opts.Permit = c.ID(), c.env.Permit
	}
	return opts
}

// permitted returns why the channel must not publish at this moment.
func (p *pipeline) permitted() error {
	c := p.channel
	if c.env.Permit == nil || c.config.Distributed {
		return nil
	}
	return c.env.Permit()
}

// abandon closes what a pipeline that never ran has connected.
func (p *pipeline) abandon() {
	p.cancel(errAbandoned)
	ctx, cancel := context.WithTimeout(context.Background(), sideCloseTimeout)
	defer cancel()
	p.errors.end(ctx)
	p.noteIn.end(ctx)
	p.noteOut.end(ctx)
	if p.out != nil {
		_ = p.out.Close(ctx) // nothing was published
	}
}

// switchErrors switches the error topic.
func (p *pipeline) switchErrors(ctx context.Context, on bool) error {
	if !on {
		p.errors.set(nil)
		return nil
	}
	topic := p.channel.config.Error
	pub, err := p.channel.connect(ctx, topic)
	if err != nil {
		return fmt.Errorf("error topic: %w", err)
	}
	if !p.errors.set(newErrorTopic(topic.Name, pub, p.channel.config.ErrorFormat)) {
		return ErrBrokerClosed
	}
	return nil
}

// switchMonitor switches one of the monitoring topics.
func (p *pipeline) switchMonitor(ctx context.Context, place *optional[monitor, *monitor], topic *Topic, on bool) error {
	if !on {
		place.set(nil)
		return nil
	}
	c := p.channel
	pub, err := c.connect(ctx, topic)
	if err != nil {
		return fmt.Errorf("monitoring topic: %w", err)
	}
	if !place.set(newMonitor(topic.Name, c.config.Input.Name, c.key, pub, &c.counters.notesDropped)) {
		return ErrBrokerClosed
	}
	return nil
}

// end stops a running pipeline and waits for it. It reports whether the
// request was received: a pipeline that was ending by itself receives none.
func (p *pipeline) end(ctx context.Context, forget bool) bool {
	heard := false
	select {
	case p.stop <- stopRequest{ctx: ctx, forget: forget}:
		heard = true
	case <-p.finished:
	}
	<-p.finished
	return heard
}

// health describes what the pipeline is waiting for; nil when it is connected.
func (p *pipeline) health() error {
	var causes []error
	if err := p.sub.Health(); err != nil {
		causes = append(causes, fmt.Errorf("input: %w", err))
	}
	if err := p.out.Health(); err != nil {
		causes = append(causes, fmt.Errorf("output: %w", err))
	}
	if topic := p.errors.Load(); topic != nil {
		if err := topic.pub.Health(); err != nil {
			causes = append(causes, fmt.Errorf("error topic: %w", err))
		}
	}
	return errors.Join(causes...)
}
