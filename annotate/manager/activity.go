package manager

import "github.com/iotenablers/enablers/annotate"

// Activity is what a channel did in this instance. It has nothing for a channel that does not
// exist, and for a stored one that cannot be created.
type Activity struct{ channel *annotate.Channel }

// Activity returns what a channel did in this instance.
func (m *Manager) Activity(id string) Activity {
	e, err := m.channels.find(id)
	if err != nil {
		return Activity{}
	}
	return Activity{e.channel}
}

// Stats returns the counts of the channel.
func (a Activity) Stats() annotate.Stats {
	if a.channel == nil {
		return annotate.Stats{}
	}
	return a.channel.Stats()
}

// Failures returns the newest messages that failed; see [annotate.Channel.Failures].
func (a Activity) Failures() []annotate.FailedMessage {
	if a.channel == nil {
		return nil
	}
	return a.channel.Failures()
}

// Warning returns what was noticed about the newest messages; see [annotate.Warnings].
func (a Activity) Warning() annotate.Warning {
	if a.channel == nil {
		return annotate.Warning{}
	}
	return a.channel.Warnings().Newest()
}

// Warned returns the newest messages with a warning; see [annotate.Warnings].
func (a Activity) Warned() []annotate.FailedMessage {
	if a.channel == nil {
		return nil
	}
	return a.channel.Warnings().Messages()
}
