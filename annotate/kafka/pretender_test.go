package kafka_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// requests are the requests of the protocol that the driver sends, by their keys
// (https://kafka.apache.org/protocol#protocol_api_keys), with the connection that sends them.
var requests = []struct {
	key  uint16
	name string
	by   func(context.Context, *kafka.Broker, annotate.Topic)
}{
	{18, "ApiVersions", subscribing}, {17, "SaslHandshake", subscribing}, {36, "SaslAuthenticate", subscribing},
	{3, "Metadata", subscribing}, {32, "DescribeConfigs", subscribing}, {10, "FindCoordinator", subscribing},
	{11, "JoinGroup", subscribing}, {14, "SyncGroup", subscribing}, {12, "Heartbeat", subscribing},
	{9, "OffsetFetch", subscribing}, {2, "ListOffsets", subscribing}, {1, "Fetch", subscribing}, {8, "OffsetCommit", subscribing},
	{18, "ApiVersions", publishing}, {17, "SaslHandshake", publishing}, {3, "Metadata", publishing}, {22, "InitProducerId", publishing},
	{0, "Produce", publishing},
	{10, "FindCoordinator", transacting}, {22, "InitProducerId", transacting}, {24, "AddPartitionsToTxn", transacting},
	{25, "AddOffsetsToTxn", transacting}, {28, "TxnOffsetCommit", transacting}, {26, "EndTxn", transacting},
}

// Lengths that are not those of a response: what the library reads of a web server's
// answer, and the two that it takes for 4 GiB.
var poisons = map[string][]byte{
	"a web server": []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request"),
	"zero":         {0, 0, 0, 0, 0, 0, 0, 0},
	"the largest":  {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
}

// Whatever request a broker answers with a length that is none of Kafka, no memory is
// allocated for it. Without the bounds of frames the first answer of a connection takes up to
// 4 GiB; of the later ones the library (1.61) bounds the length itself.
func TestBroker_allocatesNothingForLengthsThatAreNotKafkas(t *testing.T) {
	for what, poison := range poisons {
		for _, r := range requests {
			t.Run(fmt.Sprintf("%s answers %s", what, r.name), func(t *testing.T) {
				cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "in", "out"), kfake.EnableSASL(), kfake.Superuser(kafka.Plain, "ada", "horse"))
				p := &pretender{cluster: cluster.String(), key: r.key, poison: poison,
					poisoned: make(chan struct{}), closed: make(chan struct{})}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				options := quick(nil)
				options.Dial = p.dial
				options.TransactionInterval = time.Millisecond
				topic := cluster.Settings("in", "group")
				kafkatest.Change(&topic, func(k *kafka.Settings) {
					k.Mechanism = kafka.Plain
					k.User = "ada"
					k.Password = "horse"
				})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				done := make(chan struct{})
				working, stop := context.WithCancel(ctx)
				go func() {
					defer close(done)
					r.by(working, kafka.New(options), topic)
				}()
				select {
				case <-p.poisoned:
				case <-ctx.Done():
				}
				require.NoError(t, ctx.Err(), "the request was not sent")
				select {
				case <-p.closed:
				case <-ctx.Done():
				}
				require.NoError(t, ctx.Err(), "the client waits for what the length says")
				stop()
				<-done
				runtime.ReadMemStats(&after)
				const most = 128 << 20 // of which the cluster in this process takes most
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most))
			})
		}
	}
}

func subscribing(ctx context.Context, b *kafka.Broker, topic annotate.Topic) {
	publishing(ctx, b, topic)
	sub, err := b.Subscribe(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		return
	}
	for {
		d, err := sub.Receive(ctx)
		if err != nil {
			break
		}
		d.Ack()
	}
	end(sub.Close)
}

func publishing(ctx context.Context, b *kafka.Broker, topic annotate.Topic) {
	p, err := b.Connect(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		return
	}
	confirmed := make(chan struct{})
	if p.Publish(ctx, annotate.Message{Payload: []byte("x")}, func(error) { close(confirmed) }) == nil {
		select {
		case <-confirmed:
		case <-ctx.Done():
		}
	}
	end(p.Close)
}

func transacting(ctx context.Context, b *kafka.Broker, topic annotate.Topic) {
	publishing(ctx, b, topic)
	out := topic
	out.Name = "out"
	sub, p, err := b.Transact(ctx, topic, out, annotate.ConnectOptions{})
	if err != nil {
		return
	}
	d, err := sub.Receive(ctx)
	if err == nil {
		_ = p.Publish(ctx, annotate.Message{Payload: d.Payload, Origin: d.Origin}, func(error) {})
		<-ctx.Done()
	}
	end(p.Close)
	end(sub.Close)
}

// end closes a connection without waiting for the broker.
func end(closing func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = closing(ctx)
}

// pretender is a cluster that answers one kind of request with other data, once. The
// connection stays open until the client closes it.
type pretender struct {
	cluster  string
	key      uint16
	poison   []byte
	sent     atomic.Bool
	poisoned chan struct{}
	closed   chan struct{} // by the client that got the data
}

// dial connects to the cluster through the pretender.
func (p *pretender) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	broker, err := (&net.Dialer{}).DialContext(ctx, network, p.cluster)
	if err != nil {
		return nil, err
	}
	client, inside := net.Pipe()
	go func() {
		defer func() { _ = inside.Close() }()
		defer func() { _ = broker.Close() }()
		p.pass(inside, broker)
	}()
	go func() { _, _ = io.Copy(inside, broker) }()
	return client, nil
}

// pass passes requests on until one has the key.
func (p *pretender) pass(client, broker net.Conn) {
	requests := bufio.NewReader(client)
	for {
		head, err := requests.Peek(6)
		if err != nil {
			return
		}
		if binary.BigEndian.Uint16(head[4:]) == p.key && p.sent.CompareAndSwap(false, true) {
			_, _ = client.Write(p.poison)
			close(p.poisoned)
			_, _ = io.Copy(io.Discard, requests)
			close(p.closed)
			return
		}
		if _, err := io.CopyN(broker, requests, 4+int64(binary.BigEndian.Uint32(head))); err != nil {
			return
		}
	}
}
