package kafka

import (
	"sync/atomic"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// claim is one partition during one session of the group. The subscription's
// mutex protects it, except gone.
type claim struct {
	session   *session
	partition int32
	position  int64        // of the next message to acknowledge
	highWater func() int64 // of the next message to be written
	handed    []*inbound   // handed out, from the oldest that is not dealt with on
	settled   chan struct{}
	gone      atomic.Bool // nothing of it counts any more
}

// inbound is a message that arrived.
type inbound struct {
	claim  *claim
	key    []byte
	value  []byte
	offset int64
	state  state
	acked  bool // Ack was called
}

// state says how far a message that was handed out has come.
type state byte

const (
	waiting   state = iota // for its acknowledgement
	embarked               // its output is in the open transaction
	dealtWith              // acknowledged, or committed with its output
)

// delivery is what Receive hands out.
func (m *inbound) delivery(s *subscription) annotate.Delivery {
	d := annotate.Delivery{
		Message: annotate.Message{Topic: s.topic, Key: m.key, Payload: m.value},
		Ack:     m.acknowledge,
		Revoked: m.revoked,
	}
	if s.tx != nil {
		d.Origin = m
	}
	return d
}

func (m *inbound) revoked() bool { return m.claim.gone.Load() }

// acknowledge marks the message and all before it that are dealt with.
func (m *inbound) acknowledge() {
	s := m.claim.session.sub
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.claim.gone.Load() || m.acked {
		return
	}
	m.acked = true
	s.unacked--
	switch {
	case m.state != waiting: // its output is committed, or about to be
	case s.tx == nil:
		m.state = dealtWith
		m.claim.advance(m.claim.prefix(dealtWith))
	default:
		m.state = dealtWith
		notify.Send(s.tx.wake)
	}
	if s.unacked == s.window-1 {
		notify.Send(s.arrived)
	}
	notify.Send(m.claim.settled)
}

// prefix is the number of messages, from the oldest on, that have at least
// come to the state. The caller holds the subscription's mutex.
func (c *claim) prefix(reached state) int {
	n := 0
	for n < len(c.handed) && c.handed[n].state >= reached {
		n++
	}
	return n
}

// advance moves the position over the n oldest messages. The caller holds the
// subscription's mutex.
func (c *claim) advance(n int) {
	if n == 0 {
		return
	}
	s := c.session.sub
	c.position = c.handed[n-1].offset + 1
	for i, m := range c.handed[:n] {
		if !m.acked { // a transaction took it along
			m.acked, m.state = true, dealtWith
			s.unacked--
		}
		c.handed[i] = nil
	}
	c.handed = c.handed[n:]
	if s.tx == nil {
		c.mark()
	} else {
		notify.Send(s.arrived)
	}
}

// mark has the position committed, soon.
func (c *claim) mark() {
	s := c.session
	s.member.MarkOffset(s.sub.topic, c.partition, c.position, s.metadata)
}

// unacknowledged reports whether a message is still being processed. The caller
// holds the subscription's mutex.
func (c *claim) unacknowledged() bool {
	for _, m := range c.handed {
		if !m.acked {
			return true
		}
	}
	return false
}

// arrival is a message as the queue holds it.
func (c *claim) arrival(m *sarama.ConsumerMessage) *inbound {
	return &inbound{claim: c, key: m.Key, value: m.Value, offset: m.Offset}
}
