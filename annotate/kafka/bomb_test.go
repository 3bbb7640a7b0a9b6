package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// A batch of some kilobytes may hold gigabytes once it is decompressed. Every client that
// may write to a topic can send one.
func TestBroker_Subscribe_decompressesNoMoreThanTheBound(t *testing.T) {
	require.EqualValues(t, 256<<20, sarama.MaxDecompressedBatchSize, "the bound of the library, which has none by default")
	const bound = 1 << 20
	was := sarama.MaxDecompressedBatchSize
	sarama.MaxDecompressedBatchSize = bound
	defer func() { sarama.MaxDecompressedBatchSize = was }()
	for name, codec := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kafkatest.Embedded(t)
			cluster.Topic("topic", 1, 128<<20)
			client, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20))
			require.NoError(t, err)
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			require.NoError(t, client.ProduceSync(ctx, &kgo.Record{Topic: "topic", Value: make([]byte, bound/2)}).FirstErr())
			sub, err := kafka.New(quick(nil)).Subscribe(ctx, cluster.Settings("topic", "group"), annotate.ConnectOptions{})
			require.NoError(t, err)
			defer func() { require.NoError(t, sub.Close(context.Background())) }()
			d, err := sub.Receive(ctx)
			require.NoError(t, err)
			require.Len(t, d.Payload, bound/2)
			d.Ack()
			require.NoError(t, client.ProduceSync(ctx, &kgo.Record{Topic: "topic", Value: make([]byte, 32<<20)}).FirstErr())
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				assert.ErrorContains(c, sub.Health(), "decompressed to more than 1048576 bytes")
			}, patience, 10*time.Millisecond)
		})
	}
}
