package nats

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/iotenablers/enablers/annotate"
)

// bucket is the key-value bucket of the acknowledgements.
const bucket = "annotate"

// incoming is a message that was read.
type incoming struct {
	subject string
	payload []byte
	seq     uint64
}

// subscription is an annotate.Subscription.
type subscription struct {
	topic    annotate.Topic
	settings Settings
	key      string // of the acknowledgements; empty for a subscription without a name
	window   int
	ctx      context.Context
	cancel   context.CancelFunc
	done     chan struct{}
	changed  chan struct{} // capacity 1: Receive looks again
	room     chan struct{} // capacity 1: the reader looks again
	flush    chan struct{} // capacity 1: there are acknowledgements to store

	mu     sync.Mutex
	link   *link
	epoch  int        // counts connections
	queue  []incoming // read and not handed out
	unack  int        // handed out and not acknowledged
	floor  uint64     // everything up to this sequence number is acknowledged
	stored uint64     // of floor, what the server has
	paused bool
	closed bool
}

func subscribe(ctx context.Context, topic annotate.Topic, window int) (*subscription, error) {
	l, err := dial(ctx, topic)
	if err != nil {
		return nil, err
	}
	s := &subscription{
		topic: topic, settings: topic.Settings.(Settings), window: window, link: l, done: make(chan struct{}),
		changed: make(chan struct{}, 1), room: make(chan struct{}, 1), flush: make(chan struct{}, 1),
	}
	if s.settings.Durable != "" {
		s.key = base64.RawURLEncoding.EncodeToString([]byte(s.settings.Durable + "\x00" + topic.Name))
	}
	if err := s.start(ctx); err != nil {
		l.conn.Close()
		return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s, nil
}

// start finds where to read from. A new subscription begins with messages that
// come from now on, and stores that.
func (s *subscription) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stream, err := s.link.stream.Stream(ctx, s.settings.Stream)
	if err != nil {
		return err
	}
	s.floor = stream.CachedInfo().State.LastSeq
	if s.key == "" {
		return nil
	}
	kv, err := s.link.stream.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
	if err != nil {
		return err
	}
	entry, err := kv.Get(ctx, s.key)
	switch {
	case err == nil:
		s.floor, err = strconv.ParseUint(string(entry.Value()), 10, 64)
	case errors.Is(err, jetstream.ErrKeyNotFound):
		_, err = kv.PutString(ctx, s.key, strconv.FormatUint(s.floor, 10))
	}
	s.stored = s.floor
	return err
}

// run reads and stores acknowledgements until the subscription is closed. Each
// connection begins after what is acknowledged.
func (s *subscription) run() {
	defer close(s.done)
	for {
		var parts sync.WaitGroup
		ctx, end := context.WithCancel(s.ctx)
		l := s.link
		parts.Go(func() { defer end(); s.read(ctx, l) })
		parts.Go(func() { s.storeAcks(ctx, l) })
		select {
		case <-l.closed:
		case <-ctx.Done():
		}
		end()
		parts.Wait()
		if s.ctx.Err() != nil {
			return
		}
		l.conn.Close()
		s.mu.Lock()
		s.epoch++
		s.queue, s.unack = nil, 0
		s.mu.Unlock()
		next, err := redial(s.ctx, s.topic)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.link = next
		s.mu.Unlock()
	}
}

// read reads messages until ctx ends or something fails.
func (s *subscription) read(ctx context.Context, l *link) {
	s.mu.Lock()
	first := s.floor + 1
	s.mu.Unlock()
	consumer, err := l.stream.CreateConsumer(ctx, s.settings.Stream, jetstream.ConsumerConfig{
		FilterSubject: s.topic.Name, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var handling sync.Mutex // one message at a time, and none after the end
	expected := uint64(0)
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		handling.Lock()
		defer handling.Unlock()
		expected++
		meta, err := m.Metadata()
		if ctx.Err() != nil {
			return
		}
		if err != nil || meta.Sequence.Consumer != expected { // a message was lost on the way
			end()
			return
		}
		s.push(ctx, incoming{m.Subject(), m.Data(), meta.Sequence.Stream})
	}, jetstream.PullMaxMessages(max(s.window, 64)))
	if err != nil {
		return
	}
	<-ctx.Done()
	reading.Stop()
	handling.Lock()
	defer handling.Unlock()
}

// push adds a message to the queue. While that is full it waits until there is
// room or ctx ends.
func (s *subscription) push(ctx context.Context, m incoming) {
	for {
		s.mu.Lock()
		if len(s.queue) < max(s.window, 64) {
			s.queue = append(s.queue, m)
			s.mu.Unlock()
			signal(s.changed)
			return
		}
		s.mu.Unlock()
		select {
		case <-s.room:
		case <-ctx.Done():
			return
		}
	}
}

// Receive implements annotate.Subscription.
func (s *subscription) Receive(ctx context.Context) (annotate.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return annotate.Delivery{}, err
		}
		s.mu.Lock()
		if s.paused || s.closed {
			s.mu.Unlock()
			return annotate.Delivery{}, annotate.ErrBrokerClosed
		}
		if len(s.queue) > 0 && s.unack < s.window {
			m, epoch := s.queue[0], s.epoch
			s.queue = s.queue[1:]
			s.unack++
			s.mu.Unlock()
			signal(s.room)
			return annotate.Delivery{
				Message: annotate.Message{Topic: m.subject, Payload: m.payload},
				Ack:     func() { s.ack(m.seq, epoch) },
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-s.changed:
		case <-ctx.Done():
		}
	}
}

func (s *subscription) ack(seq uint64, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch || s.closed {
		return
	}
	s.floor = seq
	s.unack--
	signal(s.changed)
	signal(s.flush)
}

// storeAcks stores acknowledgements until ctx ends or that fails.
func (s *subscription) storeAcks(ctx context.Context, l *link) {
	for {
		select {
		case <-s.flush:
		case <-ctx.Done():
			return
		}
		if s.storeFloor(ctx, l) != nil {
			if ctx.Err() == nil {
				l.conn.Close()
			}
			return
		}
	}
}

func (s *subscription) storeFloor(ctx context.Context, l *link) error {
	s.mu.Lock()
	floor, same := s.floor, s.floor == s.stored
	s.mu.Unlock()
	if same || s.key == "" {
		return nil
	}
	kv, err := l.stream.KeyValue(ctx, bucket)
	if err == nil {
		_, err = kv.PutString(ctx, s.key, strconv.FormatUint(floor, 10))
	}
	if err == nil {
		s.mu.Lock()
		s.stored = floor
		s.mu.Unlock()
	}
	return err
}

// Health implements annotate.Subscription.
func (s *subscription) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return annotate.ErrBrokerClosed
	case s.link.isLost():
		return errLost
	}
	return nil
}

// Pause implements annotate.Subscription.
func (s *subscription) Pause(context.Context) error {
	s.mu.Lock()
	s.paused = true
	s.mu.Unlock()
	signal(s.changed)
	return nil
}

// Close implements annotate.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	return s.close(ctx, func(ctx context.Context, l *link) error {
		if l.isLost() {
			return nil // what is not stored is delivered again
		}
		return s.storeFloor(ctx, l)
	})
}

// Forget implements annotate.Subscription.
func (s *subscription) Forget(ctx context.Context) error {
	return s.close(ctx, func(ctx context.Context, l *link) error {
		switch {
		case s.key == "":
			return nil
		case l.isLost():
			return errLost
		}
		kv, err := l.stream.KeyValue(ctx, bucket)
		if err == nil {
			err = kv.Delete(ctx, s.key)
		}
		return err
	})
}

// close ends the subscription, with one last call to the server.
func (s *subscription) close(ctx context.Context, last func(context.Context, *link) error) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	signal(s.changed)
	s.cancel()
	<-s.done
	l := s.link
	defer l.conn.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return last(ctx, l)
}
