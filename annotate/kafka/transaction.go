package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/retry"
)

// transactionTimeout is how long the cluster keeps a transaction of a crashed process open.
// Clusters bound it, by default to 15 minutes.
const transactionTimeout = time.Minute

// transaction implements annotate.Publisher with transactions: outputs and the offsets of
// their inputs are committed together. One goroutine does all of it.
//
// The only way to undo a transaction is a new producer with the same transactional id. The
// cluster then completes a commit that had begun, and aborts any other transaction. The
// group's offsets show the outcome. So the subscription joins its group only after settled.
type transaction struct {
	*outbox
	*endpoint
	*condition
	facts   facts
	id      string
	sub     *subscription
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup
	rejoins chan chan struct{} // requests of settled

	// Used by the goroutine only.
	producer *producer
	lost     chan error     // receives the error of the producer's probe, once
	reading  sync.WaitGroup // the goroutines of the producer
	size     int            // messages of a full transaction
	begun    bool           // a transaction is open
	batch    []*publication // the messages of the open transaction
	due      time.Time      // when the open transaction is committed
	single   int            // messages to send one by one, to find the faulty one
	refused  *inbound       // the last input whose output the cluster refused

	failing sync.Mutex
	failure error // the first error of the producer
}

func newTransaction(e *endpoint, f facts, window int, id string) *transaction {
	t := &transaction{
		outbox:    newOutbox(e.topic, window, f.maxBatch),
		endpoint:  e,
		condition: &condition{to: e},
		facts:     f,
		id:        id,
		size:      min(e.broker.opts.TransactionMessages, max(1, window/2)),
		rejoins:   make(chan chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// open opens the first producer, which ends the transactions of a predecessor.
func (t *transaction) open(ctx context.Context) error { return t.renew(ctx) }

// start starts the goroutine. The subscription joins its group after it.
func (t *transaction) start(s *subscription) {
	t.sub = s
	t.work.Go(t.run)
}

// abandon ends what open created, when the subscription fails.
func (t *transaction) abandon() {
	t.cancel()
	t.work.Wait()
	t.kill()
}

// renew creates a producer, which ends the transactions of every other one with the
// id.
func (t *transaction) renew(ctx context.Context) error {
	if err := t.permitted(); err != nil {
		return err
	}
	producer, err := t.newProducer(ctx, t.facts, func(c *sarama.Config) {
		c.Producer.Transaction.ID = t.id
		c.Producer.Transaction.Timeout = transactionTimeout
	})
	if err != nil {
		return err
	}
	t.producer, t.failure = producer, nil
	stop := context.AfterFunc(t.ctx, producer.network.abort)
	lost := make(chan error, 1)
	t.lost = lost
	t.reading.Go(func() { t.probe(producer, lost) })
	t.reading.Go(func() {
		defer stop()
		producer.answers(func(*sarama.ProducerMessage) {}, func(e *sarama.ProducerError) {
			t.failing.Lock()
			defer t.failing.Unlock()
			// The errors after the first only repeat that there was one.
			if t.failure == nil || (!permanent(t.failure) && permanent(e.Err)) {
				t.failure = e.Err
			}
		})
	})
	return nil
}

// probe requests the topic's metadata at each heartbeat interval, to detect a broken
// connection while there is nothing to send, and while the client retries a commit.
func (t *transaction) probe(producer *producer, lost chan<- error) {
	ticker := time.NewTicker(t.broker.opts.HeartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-producer.network.ctx.Done():
			return
		}
		if err := producer.client.RefreshMetadata(t.topic); err != nil {
			if producer.network.ctx.Err() == nil {
				t.report(err)
				lost <- err
			}
			return
		}
	}
}

// kill ends the producer.
func (t *transaction) kill() {
	if t.producer == nil {
		return
	}
	t.producer.discard()
	t.reading.Wait()
	t.producer.forget()
	t.producer = nil
}

// settled waits until no transaction is open and the outcome of all earlier ones is known.
func (t *transaction) settled(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case t.rejoins <- done:
	case <-t.ctx.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
	case <-t.ctx.Done():
	}
	return nil
}

// run sends and commits until the publisher is closed.
func (t *transaction) run() {
	defer t.kill()
	pause := t.broker.opts.pauses()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var rejoin chan struct{}
	for t.ctx.Err() == nil {
		if t.producer == nil {
			if err := t.renew(t.ctx); err != nil {
				t.report(err)
				t.sub.reportAbsence(err)
				_ = pause.Wait(t.ctx)
				continue
			}
			t.report(nil)
		}
		if rejoin != nil {
			close(rejoin)
			rejoin = nil
		}
		err := t.step(&pause)
		if err == nil {
			if t.begun {
				timer.Reset(time.Until(t.due))
			}
			select {
			case <-t.wake:
			case <-timer.C:
			case err = <-t.lost:
			case rejoin = <-t.rejoins:
				if t.begun {
					err = annotate.ErrRevoked
				}
			case <-t.ctx.Done():
			}
		}
		if err != nil && t.ctx.Err() == nil {
			t.undo(err)
			_ = pause.Wait(t.ctx)
		}
	}
}

// step adds the waiting messages to transactions and commits those that are due.
func (t *transaction) step(pause *retry.Backoff) error {
	var taken []*publication
	for t.ctx.Err() == nil {
		size := t.size
		if t.single > 0 {
			size = 1
		}
		if t.barred() {
			size = len(t.batch)
		}
		taken = t.take(taken, size-len(t.batch))
		if err := t.embark(taken); err != nil {
			return err
		}
		full := len(t.batch) >= size && len(t.batch) > 0
		if len(taken) > 0 && !full {
			continue
		}
		if !t.begun || (!full && !t.isClosed() && time.Now().Before(t.due)) {
			return nil
		}
		if err := t.commit(); err != nil {
			return err
		}
		pause.Reset()
	}
	return nil
}

// embark adds messages to the open transaction.
func (t *transaction) embark(messages []*publication) error {
	if !t.begun && (len(messages) > 0 || t.sub.hasDealtWith()) {
		if err := t.producer.BeginTxn(); err != nil {
			return fmt.Errorf("begin a transaction: %w", err)
		}
		t.begun, t.due = true, time.Now().Add(t.broker.opts.TransactionInterval)
	}
	t.sub.mu.Lock()
	for i, m := range messages {
		switch o := m.origin; {
		case o != nil && o.partition.gone.Load():
			t.settle(m, annotate.ErrRevoked)
		case m.ByteSize(2) > t.facts.maxBatch:
			t.settle(m, fmt.Errorf("%w: %d bytes, the cluster takes at most %d", sarama.ErrMessageSizeTooLarge, m.ByteSize(2), t.facts.maxBatch))
			t.refused = o
		case o != nil && o.state == waiting:
			o.state = embarked
		}
		if t.refused != nil && i+1 < len(messages) {
			t.putBack(messages[i+1])
			messages = messages[:i+1]
			break
		}
	}
	t.sub.mu.Unlock()
	for _, m := range messages {
		if m.answered { // only this goroutine answers
			continue
		}
		select {
		case t.producer.Input() <- &m.ProducerMessage:
			t.batch = append(t.batch, m)
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
	t.confirm()
	return nil
}

// barred reports whether outputs have to wait for the acknowledgement of an input whose own
// output was refused. The group's offset cannot pass that input, so a successor would
// repeat outputs that are committed before.
func (t *transaction) barred() bool {
	if t.refused == nil {
		return false
	}
	t.sub.mu.Lock()
	defer t.sub.mu.Unlock()
	if t.refused.state != waiting || t.refused.partition.gone.Load() {
		t.refused = nil
	}
	return t.refused != nil
}

// commit ends the open transaction.
func (t *transaction) commit() error {
	offsets, member, steps, err := t.sub.reached(t.batch)
	if err != nil {
		return err
	}
	if member != nil {
		err = t.producer.AddOffsetsToTxnWithGroupMetadata(offsets, member)
	}
	if err == nil {
		err = t.producer.CommitTxn()
	}
	if err != nil {
		t.failing.Lock()
		defer t.failing.Unlock()
		if t.failure != nil {
			err = t.failure
		}
		return fmt.Errorf("commit a transaction of %d messages: %w", len(t.batch), err)
	}
	t.sub.advance(steps)
	for _, m := range t.batch {
		t.settle(m, nil)
	}
	t.clear()
	t.confirm()
	t.single = max(0, t.single-1)
	return nil
}

func (t *transaction) clear() {
	clear(t.batch)
	t.batch, t.begun = t.batch[:0], false
}

// undo ends the producer and with it the open transaction. The inputs are delivered again,
// except for one whose output was refused alone.
func (t *transaction) undo(why error) {
	t.kill()
	switch {
	case permanent(why) && len(t.batch) == 1:
		t.refused = t.batch[0].origin
		t.sub.disembark(t.refused)
		t.settle(t.batch[0], why)
		t.single = max(0, t.single-1)
		t.clear()
		t.confirm()
		return
	case permanent(why):
		t.single = len(t.batch)
	case !errors.Is(why, annotate.ErrRevoked):
		t.report(why)
	}
	again := false
	for _, m := range t.batch {
		if m.origin != nil {
			t.settle(m, annotate.ErrRevoked)
			again = true
		}
	}
	t.clear()
	t.rewind() // for messages without an input
	t.confirm()
	if again {
		t.sub.startOver()
	}
}

// Health implements annotate.Publisher.
func (t *transaction) Health() error {
	if t.isClosed() {
		return annotate.ErrBrokerClosed
	}
	return t.condition.health()
}

// Close implements annotate.Publisher.
func (t *transaction) Close(ctx context.Context) error {
	return t.close(ctx, fmt.Errorf("%w before the transaction was committed", annotate.ErrBrokerClosed), func() {
		t.cancel()
		t.work.Wait()
	})
}
