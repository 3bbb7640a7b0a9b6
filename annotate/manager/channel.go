package manager

import (
	"iter"
	"slices"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
)

// ChannelConfig is a channel as a client describes it.
type ChannelConfig struct {
	annotate.ChannelConfig
	// Metadata describes the channel.
	Metadata Metadata
	// Stopped means that the channel must not run.
	Stopped bool

	// spare are the settings of a topic for other kinds of broker than its own,
	// which clients may send and are shown.
	spare channelform.Spare
}

// Metadata describes a channel.
type Metadata struct {
	Name, Author, Description string
	Tags                      []string
}

// clone returns a copy that shares nothing with the original.
func (c ChannelConfig) clone() ChannelConfig {
	c.ChannelConfig = c.Clone()
	c.Metadata.Tags = slices.Clone(c.Metadata.Tags)
	c.spare = c.spare.Clone()
	return c
}

// Form returns the channel as its JSON forms have it, for the packages rest and page.
func (c ChannelConfig) Form() channelform.Channel {
	return channelform.Channel{ChannelConfig: c.ChannelConfig, About: channelform.About(c.Metadata), Stopped: c.Stopped, Spare: c.spare}
}

// newChannelConfig returns the channel of a form.
func newChannelConfig(c channelform.Channel) ChannelConfig {
	return ChannelConfig{ChannelConfig: c.ChannelConfig, Metadata: Metadata(c.About), Stopped: c.Stopped, spare: c.Spare}
}

// Channel is a channel with its status.
type Channel struct {
	ChannelConfig
	Status Status
}

// Status is the state of a channel.
type Status struct {
	// Stopped is true for a channel that does not run.
	Stopped bool
	// Off are the optional topics that are switched off.
	Off annotate.OptionalTopics
	// Error is the reason why the channel does not run although it should, or
	// what it waits for. It is empty for a healthy channel.
	Error string
	// Retrying means that the channel should run, does not, and is started again
	// without a request.
	Retrying bool
	// Instance is the service instance that runs the channel, where several
	// share the storage.
	Instance string
}

// State is what a channel does, as its [Status] says.
type State string

// The states of channels.
const (
	StateRunning State = "running"
	StateStopped State = "stopped"
	StateWaiting State = "waiting" // it runs, and a broker cannot be reached
	StateFailed  State = "failed"  // it should run and does not
)

// State returns the state of the channel.
func (s Status) State() State {
	switch {
	case s.Stopped && s.Error != "":
		return StateFailed
	case s.Stopped:
		return StateStopped
	case s.Error != "":
		return StateWaiting
	}
	return StateRunning
}

// CountStates returns the number of channels in each state that any of them has.
func CountStates(channels iter.Seq[Channel]) map[State]int {
	counts := map[State]int{}
	for c := range channels {
		counts[c.Status.State()]++
	}
	return counts
}

// Switch is a change of something that is on or off.
type Switch uint8

// The values of a Switch.
const (
	Keep Switch = iota
	On
	Off
)

// apply returns the state off of what is switched.
func (s Switch) apply(off bool) bool {
	switch s {
	case On:
		return false
	case Off:
		return true
	}
	return off
}

// Update is a change of the status of a channel. The zero value changes
// nothing. A switch of a topic that the channel does not have has no effect.
type Update struct {
	// Run starts or stops the channel.
	Run Switch
	// MonitorInput, MonitorOutput and Error switch the optional topics.
	MonitorInput, MonitorOutput, Error Switch
}

// off returns which optional topics of a channel are off after the update.
func (u Update) off(c *annotate.ChannelConfig, off annotate.OptionalTopics) annotate.OptionalTopics {
	if c.MonitorInput != nil {
		off.MonitorInput = u.MonitorInput.apply(off.MonitorInput)
	}
	if c.MonitorOutput != nil {
		off.MonitorOutput = u.MonitorOutput.apply(off.MonitorOutput)
	}
	if c.Error != nil {
		off.Error = u.Error.apply(off.Error)
	}
	return off
}

// Outcome is the effect of a change.
type Outcome uint8

// The outcomes of [Manager.Patch].
const (
	// Unchanged means that the channel was in the requested state already.
	Unchanged Outcome = iota
	// Updated means that switches of optional topics changed.
	Updated
	// Stopped means that the channel was stopped.
	Stopped
	// Started means that the channel was started.
	Started
)
