package kafkatest_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"github.com/iotenablers/enablers/annotate/kafka"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func connect(t *testing.T, at mqtttest.Address, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(at.String()),
		kgo.RetryTimeout(time.Minute), kgo.DialTimeout(time.Minute)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func write(t *testing.T, client *kgo.Client, topic, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(text)}).FirstErr()
}

// read returns the first records of a topic.
func read(t *testing.T, at mqtttest.Address, topic string, count int) []string {
	t.Helper()
	client := connect(t, at, kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all []string
	for len(all) < count {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, string(r.Value)) })
	}
	return all
}

func TestKafka_isFetchedAndStarts(t *testing.T) {
	k := kafkatest.StartKafka(t, nil)
	k.Topic("one", 3)
	require.NoError(t, write(t, connect(t, k.Address()), "one", "hello"))
	require.Equal(t, []string{"hello"}, read(t, k.Address(), "one", 1))
}

func TestKafka_keepsItsDataAfterAKillAndAClose(t *testing.T) {
	began := time.Now()
	k := kafkatest.StartKafka(t, nil)
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))
	at := k.Address()
	k.Topic("kept", 1)
	client := connect(t, at)
	require.NoError(t, write(t, client, "kept", "one"))

	for _, end := range []struct {
		how, next string
		do        func()
	}{{"kill", "two", k.Kill}, {"close", "three", k.Close}} {
		end.do()
		require.Error(t, write(t, connect(t, at, kgo.RecordDeliveryTimeout(time.Second)), "kept", "lost"), "answered after a %s", end.how)
		began = time.Now()
		k.Start()
		t.Logf("started after a %s in %s", end.how, time.Since(began).Round(time.Millisecond))
		require.Equal(t, at, k.Address())
		require.NoError(t, write(t, client, "kept", end.next))
	}
	require.Equal(t, []string{"one", "two", "three"}, read(t, at, "kept", 3))
}

func TestKafka_checksUsersAndRights(t *testing.T) {
	k := kafkatest.StartKafka(t, &kafkatest.Options{
		Users: map[string]string{"alice": "wonder land", "bob": "builder"}, TLS: true, Authorize: true,
	})
	k.Topic("hers", 1)
	k.Allow("alice", kafkatest.ReadTopic("hers"), kafkatest.WriteTopic("hers"))
	mechanisms := map[string]func(user, password string) sasl.Mechanism{
		kafka.Plain:       func(u, p string) sasl.Mechanism { return plain.Auth{User: u, Pass: p}.AsMechanism() },
		kafka.ScramSHA256: func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha256Mechanism() },
		kafka.ScramSHA512: func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha512Mechanism() },
	}
	for name, mechanism := range mechanisms {
		for _, protocol := range []string{kafka.SASLPlaintext, kafka.SASLSSL} {
			options := func(user, password string) []kgo.Opt {
				all := []kgo.Opt{kgo.SASL(mechanism(user, password))}
				if protocol == kafka.SASLSSL {
					all = append(all, kgo.DialTLSConfig(&tls.Config{RootCAs: k.Roots()}))
				}
				return all
			}
			t.Run(name+" over "+protocol, func(t *testing.T) {
				at := k.At(protocol)
				require.NoError(t, write(t, connect(t, at, options("alice", "wonder land")...), "hers", "mine"))
				require.ErrorIs(t, write(t, connect(t, at, options("bob", "builder")...), "hers", "bobs"), kerr.TopicAuthorizationFailed)
				require.ErrorIs(t, connect(t, at, options("alice", "wrong")...).Ping(t.Context()), kerr.SaslAuthenticationFailed)
			})
		}
	}
	t.Run("SSL without a user", func(t *testing.T) {
		client := connect(t, k.At(kafka.SSL), kgo.DialTLSConfig(&tls.Config{RootCAs: k.Roots()}))
		require.NoError(t, write(t, client, "hers", "from any user"))
		stranger := connect(t, k.At(kafka.SSL), kgo.DialTLSConfig(&tls.Config{}))
		require.ErrorContains(t, stranger.Ping(t.Context()), "certificate")
	})
	require.Len(t, read(t, k.Address(), "hers", 7), 7)
}

func TestKafka_cutCable_stopsItsClientsOnly(t *testing.T) {
	k := kafkatest.StartKafka(t, &kafkatest.Options{Cables: []string{"left", "right"}})
	k.Topic("both", 1)
	left, right := connect(t, k.Cable("left").Address), connect(t, k.Cable("right").Address)
	for i, client := range []*kgo.Client{left, right} {
		require.NoError(t, write(t, client, "both", fmt.Sprint(i)))
	}

	k.Cable("left").Cut()
	require.NoError(t, write(t, right, "both", "2"))
	cut := make(chan error, 1)
	left.Produce(t.Context(), &kgo.Record{Topic: "both", Value: []byte("3")}, func(_ *kgo.Record, err error) { cut <- err })
	require.NoError(t, write(t, right, "both", "4"))
	select {
	case err := <-cut:
		t.Fatalf("a record went through a cable that is cut: %v", err)
	default:
	}
	k.Cable("left").Restore()
	require.NoError(t, <-cut)
	require.Equal(t, []string{"0", "1", "2", "4", "3"}, read(t, k.Address(), "both", 5))
}

func TestKafka_options_configureTheBroker(t *testing.T) {
	k := kafkatest.StartKafka(t, &kafkatest.Options{Lines: []string{"message.max.bytes=1000"}})
	k.Topic("small", 2)
	require.ErrorIs(t, write(t, connect(t, k.Address(), kgo.ProducerBatchCompression(kgo.NoCompression())), "small",
		string(make([]byte, 2000))), kerr.MessageTooLarge)
}
