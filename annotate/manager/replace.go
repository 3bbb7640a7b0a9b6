package manager

import (
	"context"
	"fmt"
	"reflect"

	"github.com/iotenablers/enablers/annotate"
)

// Replace gives a channel other topics, settings, metadata and another mapping. Its identifier,
// whether it runs, and which optional topics are off stay; so does Distributed, which cannot be
// changed. A secret that is [annotate.Masked] stays as it is, as long as it is sent to the same
// destination ([annotate.SameDestination]). Spare settings for other kinds of broker stay unless there are others.
//
// The stored channel is replaced in one step. Then a channel that runs finishes the messages
// it has, and goes on with the new settings; messages that come meanwhile wait at the broker. If only
// the metadata or the mapping are new, it runs on as with SetMapping. A channel that reads another
// topic has a new subscription, and the old one is removed with what waits for it; the new one
// must have a name of its own, which is generated unless there is one. At a broker with
// another address the old subscription stays until it expires there.
//
// Errors are those of Create and ErrChannelNotFound. A channel that cannot start with the new
// settings is tried again, and its status has the reason.
func (m *Manager) Replace(ctx context.Context, id string, config ChannelConfig) error {
	return m.ReplaceIf(ctx, id, config, func(ChannelConfig) error { return nil })
}

// ReplaceIf is Replace, unless allowed returns an error for the configuration that the channel
// has; no other operation of this instance comes between.
func (m *Manager) ReplaceIf(ctx context.Context, id string, config ChannelConfig, allowed func(ChannelConfig) error) error {
	return m.operate(ctx, id, func(ctx context.Context, e *entry) error {
		if err := e.makeable("change"); err != nil {
			return err
		}
		before, _ := e.stored()
		if err := allowed(before.ChannelConfig); err != nil {
			return err
		}
		next, err := m.records.replacement(before.ChannelConfig, config)
		if err != nil {
			return err
		}
		if err := m.channels.claim(e, next.ChannelConfig); err != nil {
			return err
		}
		defer m.channels.release(e)
		reconnects := !sameConnections(before.ChannelConfig.ChannelConfig, next.ChannelConfig)
		if err := m.records.change(ctx, e, func(r *record) { r.replace(next, reconnects) }); err != nil {
			return err
		}
		if !reconnects {
			return m.logged("channel changed", e, e.channel.SetMapping(next.Mapping))
		}
		m.config.Logger.Info("channel changed", "channel", id)
		if e.standing() != mine {
			m.fleet.Look()
			return nil // the instance that runs it sees the edit
		}
		if err := m.runner.reconfigure(ctx, e); err != nil {
			if e.wanted() {
				m.runner.keep(e) // which tries again
			}
			return err
		}
		if e.wanted() {
			if err := m.runner.start(ctx, e); err != nil {
				m.config.Logger.Warn("channel with new settings not started, will be tried again", "channel", id, "error", err)
			}
			m.runner.keep(e)
		}
		return nil
	})
}

// replace puts another configuration into a record. The status stays.
func (r *record) replace(next ChannelConfig, reconnects bool) {
	stopped, off := r.Stopped, r.Off
	r.ChannelConfig = next.clone()
	r.Stopped = stopped
	r.Off = Update{}.off(&r.ChannelConfig.ChannelConfig, annotate.OptionalTopics{
		MonitorInput:  off.MonitorInput && r.MonitorInput != nil,
		MonitorOutput: off.MonitorOutput && r.MonitorOutput != nil,
		Error:         off.Error && r.Error != nil,
	})
	if reconnects {
		r.Edits++
	}
}

// sameConnections reports whether two configurations differ in their mapping at most.
func sameConnections(a, b annotate.ChannelConfig) bool {
	for _, c := range []*annotate.ChannelConfig{&a, &b} {
		c.Mapping, c.Off = annotate.Mapping{}, annotate.OptionalTopics{}
	}
	return reflect.DeepEqual(a, b)
}

// replacement returns the complete configuration that takes the place of another one.
func (r *records) replacement(before, config ChannelConfig) (ChannelConfig, error) {
	if config.ID != "" && config.ID != before.ID {
		return config, &annotate.FieldError{Field: "settings.channelId", Reason: fmt.Sprintf("must stay %q, got %q", before.ID, config.ID)}
	}
	if config.Distributed != before.Distributed {
		return config, &annotate.FieldError{Field: "settings.distributed", Reason: "cannot be changed; create another channel"}
	}
	form := config.clone().Form()
	form.ID, form.Off = before.ID, annotate.OptionalTopics{}
	r.forms.KeepSpare(before.Form(), &form)
	if err := r.forms.KeepSecrets(before.Form(), &form); err != nil {
		return newChannelConfig(form), err
	}
	next := newChannelConfig(form)
	channel, err := annotate.NewChannel(next.ChannelConfig, r.env)
	if err != nil {
		return next, err
	}
	defer func() { _ = channel.Close() }() // it never ran
	next.ChannelConfig = channel.Config()
	return r.complete(next), checkSubscription(before.ChannelConfig, channel)
}

// checkSubscription refuses the name of the subscription of a channel for another topic, because a
// broker would continue to deliver messages of the old one.
func checkSubscription(before annotate.ChannelConfig, next *annotate.Channel) error {
	now := next.Config()
	name := now.Input.Settings.Subscriber()
	if name == "" || now.Input.Broker != before.Input.Broker || name != before.Input.Settings.Subscriber() ||
		next.KeepsSubscription(before) {
		return nil
	}
	return &annotate.FieldError{Field: "settings." + annotate.InputTopic.String(),
		Reason: fmt.Sprintf("the subscription %q reads topic %q; leave its name out or choose another for topic %q",
			name, before.Input.Name, now.Input.Name)}
}
