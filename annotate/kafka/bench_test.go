package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// BenchmarkKafkaToKafka passes messages of 500 bytes from one topic to another
// as a channel does, without mapping them. The cluster is in the same process,
// so that its share is in the numbers too.
func BenchmarkKafkaToKafka(b *testing.B) {
	for name, exactly := range map[string]bool{"AtLeastOnce": false, "ExactlyOnce": true} {
		b.Run(name, func(b *testing.B) { forward(b, exactly) })
	}
}

func forward(b *testing.B, exactly bool) {
	cluster := kafkatest.Embedded(b)
	cluster.Topic("in", 4, 0)
	cluster.Topic("out", 4, 0)
	broker := kafka.New(&kafka.Options{RebalanceTimeout: 2 * time.Second})
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	opts := annotate.ConnectOptions{Window: 8192}

	source, err := broker.Connect(ctx, cluster.Settings("in", ""), opts)
	require.NoError(b, err)
	payload := make([]byte, 500)
	for i := range b.N {
		require.NoError(b, source.Publish(ctx, annotate.Message{Key: fmt.Appendf(nil, "k%d", i%100), Payload: payload}, func(error) {}))
	}
	require.NoError(b, source.Close(ctx))

	var sub annotate.Subscription
	var pub annotate.Publisher
	if exactly {
		sub, pub, err = broker.Transact(ctx, cluster.Settings("in", "group"), cluster.Settings("out", ""), opts)
		require.NoError(b, err)
	} else {
		sub, err = broker.Subscribe(ctx, cluster.Settings("in", "group"), opts)
		require.NoError(b, err)
		pub, err = broker.Connect(ctx, cluster.Settings("out", ""), opts)
		require.NoError(b, err)
	}
	done := make(chan struct{})
	left := b.N
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d, err := sub.Receive(ctx)
		require.NoError(b, err)
		err = pub.Publish(ctx, annotate.Message{Key: d.Key, Payload: d.Payload, Origin: d.Origin}, func(err error) {
			if err != nil {
				b.Error(err)
			}
			d.Ack()
			if left--; left == 0 {
				close(done)
			}
		})
		require.NoError(b, err)
	}
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	require.NoError(b, pub.Close(ctx))
	require.NoError(b, sub.Close(ctx))
}
