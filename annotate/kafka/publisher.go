package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
)

// publisher implements annotate.Publisher without transactions.
type publisher struct {
	*outbox
	*endpoint
	*condition
	facts  facts
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	first  *producer // created by open, used by run
	single int       // messages to send one by one, to find the faulty one; used by run
}

func newPublisher(e *endpoint, f facts, window int) *publisher {
	p := &publisher{outbox: newOutbox(e.topic, window, f.maxBatch), endpoint: e, condition: &condition{to: e}, facts: f}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// open opens the first producer.
func (p *publisher) open(ctx context.Context) error {
	var err error
	if p.first, err = p.newProducer(ctx, p.facts, func(*sarama.Config) {}); err != nil {
		p.cancel()
		return err
	}
	p.work.Go(p.run)
	return nil
}

// run sends and confirms messages until the publisher is closed. It creates a new
// producer when one fails.
func (p *publisher) run() {
	pause := p.broker.opts.pauses()
	for producer := p.first; producer != nil || p.ctx.Err() == nil; {
		if producer == nil {
			var err error
			if producer, err = p.newProducer(p.ctx, p.facts, p.tune); err != nil {
				p.report(err)
				_ = pause.Wait(p.ctx)
				continue
			}
		}
		began := time.Now()
		err := p.serve(producer)
		producer = nil
		if err == nil {
			continue // closed, or the single messages are sent
		}
		p.report(err)
		if time.Since(began) > time.Second {
			pause.Reset()
		}
		_ = pause.Wait(p.ctx)
	}
}

// tune limits a batch to one message while messages are sent one by one.
func (p *publisher) tune(c *sarama.Config) {
	if p.single > 0 {
		c.Producer.Flush.MaxMessages = 1
	}
}

// serve uses one producer until the publisher is closed or an error concerns more than one
// message.
func (p *publisher) serve(producer *producer) error {
	p.rewind()
	ctx, cancel := context.WithCancel(p.ctx)
	var others sync.WaitGroup
	others.Go(func() { p.feed(ctx, producer, p.single) })
	lost := make(chan error, 1)
	others.Go(func() { p.probe(ctx, producer, lost) })
	err := p.collect(producer, lost)
	cancel()
	producer.network.abort()
	others.Wait()
	producer.discard()
	producer.answers(func(m *sarama.ProducerMessage) {
		p.settle(m.Metadata.(*publication), nil)
	}, func(*sarama.ProducerError) {})
	producer.forget()
	p.confirm()
	return err
}

// feed sends messages to the producer, at most only if it is not zero.
func (p *publisher) feed(ctx context.Context, producer *producer, only int) {
	var batch []*publication
	fed := 0
	for only == 0 || fed < only {
		limit := 256
		if only > 0 {
			limit = min(limit, only-fed)
		}
		batch = p.take(batch, limit)
		fed += len(batch)
		for _, m := range batch {
			select {
			case producer.Input() <- &m.ProducerMessage:
			case <-ctx.Done():
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
	}
}

// collect records the outcomes that the producer reports.
func (p *publisher) collect(producer *producer, lost <-chan error) error {
	for {
		var answered *publication
		var why error
		select {
		case m := <-producer.Successes():
			answered = m.Metadata.(*publication)
		case e := <-producer.Errors():
			answered, why = e.Msg.Metadata.(*publication), e.Err
		case err := <-lost:
			return err
		case <-p.ctx.Done():
			return nil
		}
		switch {
		case why != nil && !permanent(why):
			return fmt.Errorf("publish on topic %q: %w", p.topic, why)
		case why != nil && ofBatch(why) && p.single == 0:
			p.single = p.underWay()
			return nil
		}
		p.settle(answered, why)
		p.confirm()
		if p.single > 0 {
			if p.single--; p.single == 0 {
				return nil
			}
		}
	}
}

// probe requests the topic's metadata at each heartbeat interval, to detect a broken
// connection while there is nothing to send.
func (p *publisher) probe(ctx context.Context, producer *producer, lost chan<- error) {
	p.report(nil)
	ticker := time.NewTicker(p.broker.opts.HeartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := producer.client.RefreshMetadata(p.topic); err != nil && ctx.Err() == nil {
			lost <- err
			return
		}
	}
}

// Health implements annotate.Publisher.
func (p *publisher) Health() error {
	if p.isClosed() {
		return annotate.ErrBrokerClosed
	}
	return p.condition.health()
}

// Close implements annotate.Publisher.
func (p *publisher) Close(ctx context.Context) error {
	return p.close(ctx, fmt.Errorf("%w before the cluster confirmed", annotate.ErrBrokerClosed), func() {
		p.cancel()
		p.work.Wait()
	})
}
