package annotate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/internal/notify"
)

// Defaults of MemoryOptions and ConnectOptions.
const (
	// DefaultWindow is the number of messages in flight on a connection whose
	// ConnectOptions do not say otherwise, and of a channel whose drivers do
	// not.
	DefaultWindow = 256
	// DefaultTransactionWindow is the same for a channel that works exactly
	// once. A transaction holds half of it at most, and takes longer to commit
	// than its messages take to send.
	DefaultTransactionWindow = 16_384
	// DefaultMemoryBacklog is the number of unacknowledged messages that a
	// MemoryBroker keeps for each durable subscription.
	DefaultMemoryBacklog = 65_536
	// DefaultMemoryHistory is the number of messages that a MemoryBroker
	// remembers of each topic for Messages and Await.
	DefaultMemoryHistory = 65_536
)

// errMemoryDown is the cause that connections of a downed MemoryBroker report.
var errMemoryDown = errors.New("the in-memory broker is down")

// MemoryOptions tunes a MemoryBroker. The zero value is ready for use.
type MemoryOptions struct {
	// Backlog is how many unacknowledged messages are kept for each durable
	// subscription, connected or not. While one subscription of a topic is at
	// its limit nothing is accepted on the topic: publishers wait in their
	// window, nothing is dropped. Zero means DefaultMemoryBacklog.
	Backlog int
	// History is how many of a topic's newest messages are remembered for
	// Messages and Await. Zero means DefaultMemoryHistory.
	History int
}

// MemoryBroker is a Broker inside the process. It keeps durable subscriptions
// by the MQTT client identifier or the Kafka consumer group of the topic's
// settings together with the topic: what such a subscription did not
// acknowledge goes, in order, to the next one of the same name, and what is
// published while it is away is kept. A subscription without a name ends with
// its connection. Topics may hold the wildcards + and # of MQTT 5 section 4.7.
//
// It is made for tests and for running without a broker: Down, Up,
// FailConfirmations and HoldConfirmations bring about the faults that a real
// broker has. Nothing is written to disk. All methods are safe for concurrent
// use. It starts no goroutine of its own; each Publisher has one, which ends
// with its Close.
type MemoryBroker struct {
	backlog int
	history int

	mu         sync.Mutex
	down       bool
	held       bool
	failure    error
	queues     map[memoryName]*memoryQueue
	publishers map[*memoryPublisher]struct{}
	waiters    map[chan struct{}]struct{}
	topics     map[string]*memoryTopic
}

var _ Transactor = (*MemoryBroker)(nil)

// memoryTopic is what the broker remembers of one topic.
type memoryTopic struct {
	messages []Message
	arrived  chan struct{} // closed and replaced when a message arrives
}

// recent returns the newest n messages, or all of them when there are fewer.
func (t *memoryTopic) recent(n int) []Message {
	return t.messages[max(0, len(t.messages)-n):]
}

// NewMemoryBroker returns a broker that is up and empty. opts may be nil.
func NewMemoryBroker(opts *MemoryOptions) *MemoryBroker {
	b := &MemoryBroker{
		backlog:    DefaultMemoryBacklog,
		history:    DefaultMemoryHistory,
		queues:     map[memoryName]*memoryQueue{},
		publishers: map[*memoryPublisher]struct{}{},
		waiters:    map[chan struct{}]struct{}{},
		topics:     map[string]*memoryTopic{},
	}
	if opts != nil && opts.Backlog > 0 {
		b.backlog = opts.Backlog
	}
	if opts != nil && opts.History > 0 {
		b.history = opts.History
	}
	return b
}

// Subscribe implements Broker. A second live subscription of the same name
// takes the first one's place, as an MQTT session is taken over: the first
// one's Receive fails.
func (b *MemoryBroker) Subscribe(ctx context.Context, topic Topic, opts ConnectOptions) (Subscription, error) {
	if err := b.admit(ctx, topic.Name); err != nil {
		return nil, fmt.Errorf("subscribe to topic %q: %w", topic.Name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name := newMemoryName(topic)
	q := b.queues[name]
	if q == nil {
		q = &memoryQueue{filter: topic.Name, durable: name.subscriber != ""}
		if q.durable {
			b.queues[name] = q
		} else {
			// No other subscription finds an unnamed one: the queue's own
			// address is as good a name as any.
			name.unnamed = q
			b.queues[name] = q
		}
	}
	if q.reader != nil {
		q.reader.end(errMemoryTakenOver)
	}
	s := &memorySubscription{
		broker: b, name: name, queue: q,
		window: opts.MaxInFlight(),
		wake:   make(chan struct{}, 1),
	}
	q.reader = s
	q.rewind()
	return s, nil
}

// Connect implements Broker.
func (b *MemoryBroker) Connect(ctx context.Context, topic Topic, opts ConnectOptions) (Publisher, error) {
	if err := b.admit(ctx, topic.Name); err != nil {
		return nil, fmt.Errorf("connect to topic %q: %w", topic.Name, err)
	}
	if strings.ContainsAny(topic.Name, "+#") {
		return nil, fmt.Errorf("connect to topic %q: a topic to publish on must have a name without wildcards", topic.Name)
	}
	p := newMemoryPublisher(b, topic.Name, opts.MaxInFlight())
	b.mu.Lock()
	b.publishers[p] = struct{}{}
	b.mu.Unlock()
	go p.run()
	return p, nil
}

// Transact implements Transactor. A message is a transaction of its own.
func (b *MemoryBroker) Transact(
	ctx context.Context, input, output Topic, opts ConnectOptions) (Subscription, Publisher, error,
) {
	s, err := b.Subscribe(ctx, input, opts)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.Connect(ctx, output, opts)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close(ctx))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p.(*memoryPublisher).input = s.(*memorySubscription)
	return s, p, nil
}

// admit reports whether a connection can be made.
func (b *MemoryBroker) admit(ctx context.Context, topic string) error {
	if topic == "" {
		return errors.New("the topic has no name")
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return fmt.Errorf("%w: %w", ErrBrokerUnavailable, errMemoryDown)
	}
	return nil
}

// Down cuts every connection and refuses new ones until Up. Subscriptions and
// publishers stay: they report ill health, and continue after Up.
func (b *MemoryBroker) Down() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return
	}
	b.down = true
	for _, q := range b.queues {
		q.rewind()
	}
	for p := range b.publishers {
		notify.Send(p.wake)
		// What was taken and not yet confirmed is sent again, so that it
		// arrives twice: this is what at-least-once looks like.
		p.sent = 0
	}
}

// Up ends what Down began: unacknowledged deliveries are handed out again, in
// order, and unconfirmed messages are sent again.
func (b *MemoryBroker) Up() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = false
	b.wakeAllLocked()
}

// FailConfirmations makes the broker refuse messages: they are not stored and
// are confirmed with cause. It lasts until it is called with nil.
func (b *MemoryBroker) FailConfirmations(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = cause
	b.wakeAllLocked()
}

// HoldConfirmations makes the broker take messages without confirming them,
// until ReleaseConfirmations. Messages that are held when Down is called are
// sent again after Up, and so arrive twice.
func (b *MemoryBroker) HoldConfirmations() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
}

// ReleaseConfirmations confirms what HoldConfirmations kept back.
func (b *MemoryBroker) ReleaseConfirmations() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	b.wakeAllLocked()
}

// Publish stores a message as if another client had sent it, waiting while a
// subscription is at its backlog limit. It works while the broker is down, and
// neither fails nor waits for the sake of FailConfirmations and
// HoldConfirmations, which concern connections.
func (b *MemoryBroker) Publish(ctx context.Context, m Message) error {
	if m.Topic == "" || strings.ContainsAny(m.Topic, "+#") {
		return fmt.Errorf("publish on topic %q: a topic to publish on must have a name without wildcards", m.Topic)
	}
	wake := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters[wake] = struct{}{}
	defer delete(b.waiters, wake)
	for !b.storeLocked(m) {
		b.mu.Unlock()
		select {
		case <-wake:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			return fmt.Errorf("publish on topic %q: a subscription is at its limit of %d messages: %w", m.Topic, b.backlog, ctx.Err())
		}
	}
	return nil
}

// Messages returns what was published on the topic, the oldest first, as far
// as MemoryOptions.History reaches back.
func (b *MemoryBroker) Messages(topic string) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.topics[topic]; t != nil {
		return append([]Message(nil), t.recent(b.history)...)
	}
	return nil
}

// Await waits until at least n messages were published on the topic and
// returns what Messages returns. n must not exceed MemoryOptions.History.
func (b *MemoryBroker) Await(ctx context.Context, topic string, n int) ([]Message, error) {
	if n > b.history {
		return nil, fmt.Errorf("await %d messages on topic %q: the history holds %d", n, topic, b.history)
	}
	for {
		b.mu.Lock()
		t := b.topicLocked(topic)
		if len(t.messages) >= n {
			messages := append([]Message(nil), t.recent(b.history)...)
			b.mu.Unlock()
			return messages, nil
		}
		have, arrived := len(t.messages), t.arrived
		b.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("await %d messages on topic %q: %d arrived: %w", n, topic, have, ctx.Err())
		}
	}
}

// Unacknowledged returns how many messages the broker keeps for the durable
// subscription that the settings name; 0 when there is no such subscription.
func (b *MemoryBroker) Unacknowledged(topic Topic) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.queues[newMemoryName(topic)]; q != nil {
		return len(q.messages)
	}
	return 0
}

// storeLocked gives the message to every subscription of its topic, or to none and
// reports false when one has no room. The caller holds b.mu.
func (b *MemoryBroker) storeLocked(m Message) bool {
	for _, q := range b.queues {
		if len(q.messages) >= b.backlog && matchTopic(q.filter, m.Topic) {
			return false
		}
	}
	m.Origin = nil
	for _, q := range b.queues {
		if matchTopic(q.filter, m.Topic) {
			q.push(m)
		}
	}
	t := b.topicLocked(m.Topic)
	t.messages = append(t.messages, m)
	if len(t.messages) >= 2*b.history { // seldom, so that it costs little per message
		t.messages = append([]Message(nil), t.recent(b.history)...)
	}
	close(t.arrived)
	t.arrived = make(chan struct{})
	return true
}

// topicLocked returns what is kept of a topic. The caller holds b.mu.
func (b *MemoryBroker) topicLocked(name string) *memoryTopic {
	t := b.topics[name]
	if t == nil {
		t = &memoryTopic{arrived: make(chan struct{})}
		b.topics[name] = t
	}
	return t
}

// wakeAllLocked wakes everything that waits. The caller holds b.mu.
func (b *MemoryBroker) wakeAllLocked() {
	for _, q := range b.queues {
		if q.reader != nil {
			notify.Send(q.reader.wake)
		}
	}
	b.wakeWritersLocked()
}

// wakeWritersLocked wakes publishers that wait for room. The caller holds b.mu.
func (b *MemoryBroker) wakeWritersLocked() {
	for p := range b.publishers {
		notify.Send(p.wake)
	}
	for wake := range b.waiters {
		notify.Send(wake)
	}
}

// matchTopic reports whether a topic filter matches a topic name, by the rules
// of MQTT 5 sections 4.7.1 and 4.7.2.
func matchTopic(filter, topic string) bool {
	if strings.HasPrefix(topic, "$") && (strings.HasPrefix(filter, "+") || strings.HasPrefix(filter, "#")) {
		return false
	}
	for {
		want, filterRest, filterMore := strings.Cut(filter, "/")
		if want == "#" {
			return true
		}
		have, topicRest, topicMore := strings.Cut(topic, "/")
		if want != "+" && want != have {
			return false
		}
		if !topicMore {
			return !filterMore || filterRest == "#"
		}
		if !filterMore {
			return false
		}
		filter, topic = filterRest, topicRest
	}
}
