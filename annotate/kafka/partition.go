package kafka

import (
	"sync/atomic"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// partition is an assigned partition during one generation of the group. The subscription's
// mutex protects it, except gone.
type partition struct {
	generation *generation
	number     int32
	position   int64        // of the next message to acknowledge
	highWater  func() int64 // of the next message to be written
	handed     []*inbound   // handed out, from the oldest unfinished one on
	settled    chan struct{}
	gone       atomic.Bool // it is released, and its messages are revoked
}

// inbound is a message from the cluster.
type inbound struct {
	partition *partition
	key       []byte
	value     []byte
	trace     annotate.Trace
	offset    int64
	state     state
	acked     bool // Ack was called
}

// state is the progress of a message that was handed out.
type state byte

const (
	waiting   state = iota // it waits for its acknowledgement
	embarked               // its output is in the open transaction
	dealtWith              // acknowledged, or committed with its output
)

// delivery returns the message in the form that Receive returns.
func (m *inbound) delivery(s *subscription) annotate.Delivery {
	d := annotate.Delivery{
		Message: annotate.Message{Topic: s.topic, Key: m.key, Payload: m.value, Trace: m.trace,
			Position: annotate.Position{Partition: m.partition.number, Offset: m.offset}},
		Ack:     m.acknowledge,
		Revoked: m.revoked,
	}
	if s.tx != nil {
		d.Origin = m
	}
	return d
}

func (m *inbound) revoked() bool { return m.partition.gone.Load() }

// acknowledge marks the message as acknowledged, and moves the position as far as possible.
func (m *inbound) acknowledge() {
	s := m.partition.generation.sub
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.partition.gone.Load() || m.acked {
		return
	}
	m.acked = true
	s.unacked--
	switch {
	case m.state != waiting: // its output is committed, or in the open transaction
	case s.tx == nil:
		m.state = dealtWith
		m.partition.advanceLocked(m.partition.prefixLocked(dealtWith))
	default:
		m.state = dealtWith
		notify.Send(s.tx.wake)
	}
	if s.unacked == s.window-1 {
		notify.Send(s.arrived)
	}
	notify.Send(m.partition.settled)
}

// prefixLocked returns the number of messages, from the oldest on, that have reached the
// state.
func (p *partition) prefixLocked(reached state) int {
	n := 0
	for n < len(p.handed) && p.handed[n].state >= reached {
		n++
	}
	return n
}

// advanceLocked moves the position past the n oldest messages.
func (p *partition) advanceLocked(n int) {
	if n == 0 {
		return
	}
	s := p.generation.sub
	p.position = p.handed[n-1].offset + 1
	for i, m := range p.handed[:n] {
		if !m.acked { // its output was committed
			m.acked, m.state = true, dealtWith
			s.unacked--
		}
		p.handed[i] = nil
	}
	p.handed = p.handed[n:]
	if s.tx == nil {
		p.markLocked()
	} else {
		notify.Send(s.arrived)
	}
}

// markLocked marks the position for the next commit.
func (p *partition) markLocked() {
	g := p.generation
	g.member.MarkOffset(g.sub.topic, p.number, p.position, g.metadata)
}

// unacknowledgedLocked reports whether a message is still being processed.
func (p *partition) unacknowledgedLocked() bool {
	for _, m := range p.handed {
		if !m.acked {
			return true
		}
	}
	return false
}

// arrival returns a message in the form that the queue holds.
func (p *partition) arrival(m *sarama.ConsumerMessage) *inbound {
	return &inbound{partition: p, key: m.Key, value: m.Value, trace: readTrace(m.Headers), offset: m.Offset}
}

// size is the number of bytes that the message holds.
func (m *inbound) size() int {
	return len(m.key) + len(m.value) + len(m.trace.Parent) + len(m.trace.State)
}
