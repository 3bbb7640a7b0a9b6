package main

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// sarama is a passthrough without our driver: the library's consumer group
// and producer, with the settings that at least once and order ask for. Inputs
// are marked when their outputs are confirmed.
func (s subject) sarama() (outcome, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	client, err := sarama.NewClient([]string{s.Address}, config)
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	producer, err := sarama.NewAsyncProducerFromClient(client)
	if err != nil {
		return outcome{}, err
	}
	group, err := sarama.NewConsumerGroupFromClient(s.Name, client)
	if err != nil {
		return outcome{}, err
	}
	h := &bare{out: s.Out, pad: s.Pad, producer: producer}
	failed, confirmed := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(confirmed)
		for m := range producer.Successes() {
			in := m.Metadata.(*marked)
			in.session.MarkMessage(in.message, "")
		}
	}()
	go func() {
		for e := range producer.Errors() {
			select {
			case failed <- e:
			default:
			}
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	consumed := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = group.Consume(ctx, []string{s.In}, h)
		}
		consumed <- err
	}()
	s.wait()
	cancel()
	err = <-consumed
	producer.AsyncClose()
	<-confirmed
	select {
	case why := <-failed:
		err = errors.Join(err, why)
	default:
	}
	return outcome{}, errors.Join(err, group.Close())
}

type marked struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

// bare implements sarama.ConsumerGroupHandler.
type bare struct {
	out      string
	pad      int
	producer sarama.AsyncProducer
}

func (*bare) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*bare) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (b *bare) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			value := m.Value
			if b.pad > 0 {
				value = make([]byte, b.pad)
				copy(value, m.Value)
			}
			b.producer.Input() <- &sarama.ProducerMessage{
				Topic: b.out, Key: sarama.ByteEncoder(m.Key), Value: sarama.ByteEncoder(value),
				Metadata: &marked{session, m},
			}
		case <-session.Context().Done():
			return nil
		}
	}
}
