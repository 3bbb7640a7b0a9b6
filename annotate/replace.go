package annotate

import (
	"context"
	"errors"
	"fmt"
)

// errRunning is the reason why a channel cannot have another configuration.
var errRunning = errors.New("annotate: channel runs, stop it first")

// SetConfig gives a channel that is stopped another configuration: topics, connections, sizes
// and mapping. The identifier and the counts stay, and optional topics that are switched off
// stay off. Errors about the configuration are those of [NewChannel], and nothing changes. What
// the broker keeps for the channel stays if [Channel.KeepsSubscription] returns true; otherwise
// the caller ends it before, with Forget.
func (c *Channel) SetConfig(ctx context.Context, config ChannelConfig) error {
	if config.ID != c.ID() {
		return &FieldError{"settings.channelId", fmt.Sprintf("must stay %q, got %q", c.ID(), config.ID)}
	}
	next, err := NewChannel(config, c.env)
	if err != nil {
		return err
	}
	if err := c.hold(ctx); err != nil {
		return c.failed("change", err)
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return c.failed("change", ErrClosed)
	case c.run != nil:
		return c.failed("change", errRunning)
	}
	to, from := &c.config, &next.config // the identifier is read without the mutex and not written
	to.Input = from.Input
	to.Output = from.Output
	to.MonitorInput = from.MonitorInput
	to.MonitorOutput = from.MonitorOutput
	to.Error = from.Error
	to.Mapping = from.Mapping
	to.Parallelism = from.Parallelism
	to.BufferSize = from.BufferSize
	to.Dialect = from.Dialect
	to.ErrorFormat = from.ErrorFormat
	to.ExactlyOnce = from.ExactlyOnce
	to.Distributed = from.Distributed
	c.off = c.off.of(to)
	c.mapping.Store(next.mapping.Load())
	return nil
}

// of returns the optional topics that are switched off and that the channel has.
func (o OptionalTopics) of(c *ChannelConfig) OptionalTopics {
	return OptionalTopics{
		MonitorInput:  o.MonitorInput && c.MonitorInput != nil,
		MonitorOutput: o.MonitorOutput && c.MonitorOutput != nil,
		Error:         o.Error && c.Error != nil,
	}
}

// KeepsSubscription reports whether the input of the configuration is the subscription that
// the channel has: the messages that wait for it at the broker come to the channel after
// [Channel.SetConfig] too. Both configurations are complete.
func (c *Channel) KeepsSubscription(config ChannelConfig) bool {
	now := c.Config()
	return now.Distributed == config.Distributed && now.Input.Broker == config.Input.Broker &&
		now.Input.subscription() == config.Input.subscription()
}

// subscription is what distinguishes a subscription on the topic at a broker from others.
func (t Topic) subscription() string {
	if s, ok := t.Settings.(SubscriptionSettings); ok {
		return s.Subscription(t.Name)
	}
	subscriber := ""
	if t.Settings != nil {
		subscriber = t.Settings.Subscriber()
	}
	return subscriber + "\n" + t.Name
}
