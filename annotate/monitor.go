package annotate

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// monitorBacklog is how many notes wait for a monitoring topic before further
// ones are dropped.
const monitorBacklog = 256

// monitorGrace is how much longer than the context a driver may take to return.
// After that the channel does not wait for it.
const monitorGrace = 250 * time.Millisecond

// monitor publishes a short note for each message that passes. It is for
// observation, so it never delays data: notes that its broker is too slow for
// are dropped and counted.
type monitor struct {
	topic   string
	key     []byte
	source  string // what notes name: always the input topic
	pub     Publisher
	notes   chan time.Time
	dropped *atomic.Uint64
	cancel  context.CancelFunc
	last    chan context.Context // for the remaining work when the topic is switched off
	done    chan struct{}
}

func newMonitor(topic, source string, key []byte, pub Publisher, dropped *atomic.Uint64) *monitor {
	m := &monitor{
		topic: topic, key: key, source: source, pub: pub, dropped: dropped,
		notes: make(chan time.Time, monitorBacklog),
		last:  make(chan context.Context, 1),
		done:  make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go m.run(ctx)
	return m
}

// note means that a message passes now. It does not block.
func (m *monitor) note() {
	select {
	case m.notes <- time.Now():
	default:
		m.dropped.Add(1)
	}
}

func (m *monitor) run(ctx context.Context) {
	defer close(m.done)
	for {
		select {
		case at := <-m.notes:
			m.publish(ctx, at)
		case over := <-m.last:
			m.finish(over)
			return
		}
	}
}

// finish publishes the notes that are waiting, within the time that is left.
func (m *monitor) finish(ctx context.Context) {
	for {
		select {
		case at := <-m.notes:
			m.publish(ctx, at)
		default:
			_ = m.pub.Close(ctx) // notes may be lost
			return
		}
	}
}

func (m *monitor) publish(ctx context.Context, at time.Time) {
	note := make([]byte, 0, len(m.source)+15)
	note = append(note, '@')
	note = append(note, m.source...)
	note = append(note, ':')
	note = strconv.AppendInt(note, at.UnixMilli(), 10)
	lost := func(err error) {
		if err != nil {
			m.dropped.Add(1)
		}
	}
	if err := m.pub.Publish(ctx, Message{Topic: m.topic, Key: m.key, Payload: note}, lost); err != nil {
		lost(err)
	}
}

func (m *monitor) close(ctx context.Context) {
	m.last <- ctx
	m.cancel() // cancels what is being published
	select {
	case <-m.done:
		return
	case <-ctx.Done():
	}
	grace := time.NewTimer(monitorGrace)
	defer grace.Stop()
	select {
	case <-m.done:
	case <-grace.C:
	}
}
