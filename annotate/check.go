package annotate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// check returns a *FieldError for the first thing that makes a complete
// channel impossible to run.
func (e *Environment) check(c *ChannelConfig) error {
	if err := checkChannelID(c.ID); err != nil {
		return err
	}
	if c.Parallelism < 1 || c.Parallelism > 256 {
		return &FieldError{"settings.parallelism", fmt.Sprintf("expected an integer from 1 to 256, got %d", c.Parallelism)}
	}
	if c.BufferSize < 1 || c.BufferSize > 65536 {
		return &FieldError{"settings.bufferSize", fmt.Sprintf("expected an integer from 1 to 65536, got %d", c.BufferSize)}
	}
	if err := e.checkDelivery(c); err != nil {
		return err
	}
	sessions := map[Session]TopicRole{}
	for _, topic := range c.Topics() {
		path := "settings." + topic.Role.String()
		d := e.driver(topic.Broker)
		if d == nil {
			return &FieldError{path + ".brokerType", noBroker(topic.Broker).Error()}
		}
		if d.OutputOnly && topic.Role != OutputTopic {
			return &FieldError{path + ".brokerType", fmt.Sprintf(
				"%s can only be the output of a channel; expected one of %s", d.title(), e.brokers())}
		}
		if strings.TrimSpace(topic.Name) == "" {
			return &FieldError{path + ".topic", "required, must not be empty"}
		}
		if err := d.Settings.Check(*topic.Topic, topic.Role); err != nil {
			return Below(path, err)
		}
		session, ok := topic.session()
		if !ok {
			continue
		}
		if other, taken := sessions[session]; taken {
			return topic.sessionTaken(session, other.String())
		}
		sessions[session] = topic.Role
	}
	return nil
}

// brokers lists the kinds that every topic of a channel can have.
func (e *Environment) brokers() string {
	var kinds []BrokerType
	for _, d := range e.Drivers {
		if !d.OutputOnly {
			kinds = append(kinds, d.Type)
		}
	}
	return joinNames(kinds)
}

// checkDelivery returns a *FieldError for guarantees that the brokers of the
// channel cannot give.
func (e *Environment) checkDelivery(c *ChannelConfig) error {
	if c.ErrorFormat != "" && c.ErrorFormat != ErrorText && c.ErrorFormat != ErrorJSON {
		return &FieldError{"settings.errorFormat", fmt.Sprintf("expected one of TEXT, JSON, got %q", c.ErrorFormat)}
	}
	if d := e.driver(c.Input.Broker); c.Distributed && d != nil && !d.Distributed {
		return &FieldError{"settings.distributed", fmt.Sprintf("is not possible with an input topic of %s", d.title())}
	}
	if !c.ExactlyOnce {
		return nil
	}
	const field = "settings.exactlyOnce"
	in, out := c.Input, c.Output
	d := e.driver(in.Broker)
	if d == nil || !d.ExactlyOnce || out.Broker != in.Broker {
		return &FieldError{field, fmt.Sprintf("needs %s for input and output, got %s and %s",
			e.exactlyOnceTitles(), in.Broker, out.Broker)}
	}
	if t, ok := d.Settings.(TransactionDriver); ok {
		if err := t.CheckTransaction(in, out); err != nil {
			return &FieldError{field, err.Error()}
		}
	}
	if in.Name == out.Name {
		return &FieldError{field, fmt.Sprintf("input and output are the same topic %q", in.Name)}
	}
	return nil
}

// exactlyOnceTitles names the kinds of broker that can work exactly once.
func (e *Environment) exactlyOnceTitles() string {
	var titles []string
	for _, d := range e.Drivers {
		if d.ExactlyOnce {
			titles = append(titles, d.title())
		}
	}
	if len(titles) == 0 {
		return "a broker with transactions"
	}
	return strings.Join(slices.Compact(titles), " or ")
}

// session returns the session of a topic that has one.
func (t RoleTopic) session() (Session, bool) {
	if s, ok := t.Settings.(SessionSettings); ok {
		return s.Session()
	}
	return Session{}, false
}

// sessionTaken refuses the session of another topic.
func (t RoleTopic) sessionTaken(session Session, other string) error {
	return &FieldError{
		"settings." + t.Role.String() + "." + session.Member,
		fmt.Sprintf("is %q as in %s on the same broker, which would keep disconnecting one of the two; "+
			"leave it out or choose another", session.Name, other),
	}
}

// CheckSessions returns a [*FieldError] when a topic of the channel has the
// session of a topic of the other one. Both configurations are complete.
func (c *ChannelConfig) CheckSessions(other ChannelConfig) error {
	sessions := map[Session]TopicRole{}
	for _, topic := range other.Topics() {
		if session, ok := topic.session(); ok {
			sessions[session] = topic.Role
		}
	}
	for _, topic := range c.Topics() {
		session, ok := topic.session()
		if role, taken := sessions[session]; ok && taken {
			return topic.sessionTaken(session, fmt.Sprintf("%s of channel %q", role, other.ID))
		}
	}
	return nil
}

func checkChannelID(id string) error {
	const field = "settings.channelId"
	switch {
	case len(id) > maxChannelID:
		return &FieldError{field, fmt.Sprintf("expected at most %d bytes, got %d", maxChannelID, len(id))}
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return &FieldError{field, "expected UTF-8 text without control characters"}
	case id == "." || id == "..":
		// Clients and proxies remove such a path segment (RFC 3986 section
		// 5.2.4), percent-encoded or not: they could not address the channel.
		return &FieldError{field, fmt.Sprintf("cannot be %q, which cannot stand in a URL", id)}
	}
	return nil
}
