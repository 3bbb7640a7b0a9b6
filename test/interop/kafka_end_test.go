package interop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// partitions is how many each topic of Kafka has.
const partitions = 4

// kafkaEnd is Apache Kafka with two cables. It is killed for a restart: what it
// has confirmed it has given to the system, which lives on.
type kafkaEnd struct{ *kafkatest.Kafka }

func startKafka(t *testing.T) *kafkaEnd {
	return &kafkaEnd{kafkatest.StartKafka(t, &kafkatest.Options{Cables: []string{inputCable, outputCable}})}
}

func (e *kafkaEnd) topics(names ...string) {
	for _, name := range names {
		e.Topic(name, partitions)
	}
}

func (e *kafkaEnd) input() string { return "weather.in" }

func (e *kafkaEnd) settings(topic, cable string) map[string]any {
	at := e.Address()
	if cable != noCable {
		at = e.Cable(cable).Address
	}
	return map[string]any{
		"topic": topic, "brokerType": "KAFKA",
		"kafkaSettings": map[string]any{"host": at.Host, "port": at.Port, "groupId": "annotators",
			"offsetReset": "earliest"},
	}
}

// attempts are enough for any time that a broker is away.
const attempts = 10_000

// client is a configuration that gives nothing up while the broker is away.
func (e *kafkaEnd) client() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V3_6_0_0
	c.Metadata.Retry.Max, c.Metadata.Retry.Backoff = attempts, retry
	c.Consumer.Retry.Backoff = retry
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Producer.Idempotent = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = attempts, retry
	c.Producer.Return.Successes = true
	c.Net.MaxOpenRequests = 1
	return c
}

func (e *kafkaEnd) publisher(t *testing.T) func(context.Context, int, []byte) error {
	producer, err := sarama.NewSyncProducer([]string{e.Address().String()}, e.client())
	require.NoError(t, err)
	t.Cleanup(func() { _ = producer.Close() })
	return func(_ context.Context, lane int, payload []byte) error {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{
			Topic: e.input(), Key: sarama.StringEncoder(station(lane)), Value: sarama.ByteEncoder(payload),
		})
		if err != nil {
			return fmt.Errorf("publish to Kafka: %w", err)
		}
		return nil
	}
}

func (e *kafkaEnd) consume(t *testing.T, topic string, take func([]byte)) {
	t.Helper()
	consumer, err := sarama.NewConsumer([]string{e.Address().String()}, e.client())
	require.NoError(t, err)
	var work sync.WaitGroup
	var open []sarama.PartitionConsumer
	for partition := range int32(partitions) {
		var one sarama.PartitionConsumer
		require.Eventually(t, func() bool { // a broker that is short of time has no leaders for a while
			one, err = consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
			return err == nil
		}, patience, retry, "consume partition %d of %s", partition, topic)
		open = append(open, one)
		work.Go(func() {
			for message := range one.Messages() {
				take(message.Value)
			}
		})
	}
	t.Cleanup(func() {
		for _, one := range open {
			one.AsyncClose()
		}
		work.Wait()
		_ = consumer.Close()
	})
}

func (e *kafkaEnd) restart() {
	e.Kill()
	e.Start()
}

func (e *kafkaEnd) cut(cable string)     { e.Cable(cable).Cut() }
func (e *kafkaEnd) restore(cable string) { e.Cable(cable).Restore() }
