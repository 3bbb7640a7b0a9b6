package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// producer wraps one producer of sarama. After some failed attempts sarama drops a message,
// and the sequence of the idempotent producer has a gap. The users of this type then end the
// producer and create another.
type producer struct {
	network *network
	client  sarama.Client
	sarama.AsyncProducer
}

// producerConfig returns the configuration of an ordered, idempotent producer.
func (e *endpoint) producerConfig(n *network, f facts) *sarama.Config {
	c := e.config(n)
	c.Net.ReadTimeout = 2 * e.broker.opts.ConnectTimeout
	c.Net.MaxOpenRequests = 1
	c.Producer.Idempotent = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Timeout = e.broker.opts.ConnectTimeout
	c.Producer.Return.Successes = true
	c.Producer.Return.Errors = true
	c.Producer.Partitioner = sarama.NewMurmur2Partitioner // as the Java client does
	c.Producer.MaxMessageBytes = f.maxBatch
	c.Producer.Retry.Max = 4
	c.Producer.Retry.Backoff = 100 * time.Millisecond
	c.Producer.Retry.BackoffFunc = n.backoff
	c.Producer.Transaction.Retry.Max = 25
	c.Producer.Transaction.Retry.BackoffFunc = n.soon
	return c
}

// newProducer connects a producer. ctx bounds the connecting only.
func (e *endpoint) newProducer(ctx context.Context, f facts, tune func(*sarama.Config)) (*producer, error) {
	o := &e.broker.opts
	p := &producer{network: e.newNetwork()}
	_, err := within(ctx, 2*o.ConnectTimeout, p.network.abort, func() (struct{}, error) {
		config := e.producerConfig(p.network, f)
		tune(config)
		var err error
		if p.client, err = sarama.NewClient(e.addresses(), config); err != nil {
			return struct{}{}, err
		}
		if err = p.client.RefreshMetadata(e.topic); err == nil {
			p.AsyncProducer, err = sarama.NewAsyncProducerFromClient(p.client)
		}
		return struct{}{}, err
	})
	if err != nil {
		p.network.abort()
		if p.client != nil {
			_ = p.client.Close()
		}
		return nil, err
	}
	return p, nil
}

// answers passes on the outcomes of messages until the producer is closed.
func (p *producer) answers(success func(*sarama.ProducerMessage), failure func(*sarama.ProducerError)) {
	successes, failures := p.Successes(), p.Errors()
	for successes != nil || failures != nil {
		select {
		case m, ok := <-successes:
			if !ok {
				successes = nil
				continue
			}
			success(m)
		case e, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			failure(e)
		}
	}
}

// discard ends the producer. It closes the connections first, so that the last answers come
// soon. The caller sends no more messages, and answers must run until it returns.
func (p *producer) discard() {
	p.network.abort()
	p.AsyncClose()
}

// forget releases the producer's client, after the last answer.
func (p *producer) forget() {
	_ = p.client.Close()
	p.client.Config().MetricRegistry.UnregisterAll()
}

// permanent reports whether an error concerns the message itself, so that another attempt
// would fail too. A missing right does not concern a message.
func permanent(err error) bool {
	var config sarama.ConfigurationError
	var encoding sarama.PacketEncodingError
	if errors.As(err, &config) || errors.As(err, &encoding) {
		return true
	}
	for _, reason := range []sarama.KError{
		sarama.ErrMessageSizeTooLarge, sarama.ErrInvalidMessageSize, sarama.ErrInvalidTopic,
		sarama.ErrInvalidRecord, sarama.ErrInvalidTimestamp,
		sarama.ErrPolicyViolation, sarama.ErrUnsupportedForMessageFormat,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// ofBatch reports whether a permanent error may concern another message of the same batch.
func ofBatch(err error) bool {
	var kafka sarama.KError
	return errors.As(err, &kafka) && kafka != sarama.ErrInvalidTopic
}
