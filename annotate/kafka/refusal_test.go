package kafka_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

func TestBroker_credentials_areCheckedAndNeverShown(t *testing.T) {
	for _, mechanism := range []string{kafka.Plain, kafka.ScramSHA256, kafka.ScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			cluster := kafkatest.Embedded(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "ada", "right horse"), kfake.SeedTopics(1, "topic"))
			settings := cluster.Settings("topic", "group")
			kafkatest.Change(&settings, func(k *kafka.Settings) {
				k.Mechanism = mechanism
				k.User = "ada"
				k.Password = "right horse"
			})
			sub, err := kafka.New(quick(nil)).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
			require.NoError(t, err)
			require.NoError(t, sub.Close(t.Context()))

			kafkatest.Change(&settings, func(k *kafka.Settings) { k.Password = "wrong horse" })
			_, err = kafka.New(quick(nil)).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, "wrong credentials") // the embedded cluster hangs up without a word
			_, err = kafka.New(quick(nil)).Connect(t.Context(), settings, annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.NotContains(t, err.Error(), "wrong horse")
		})
	}
}

func TestBroker_missingTopic_isNamedAndNotCreated(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.AllowAutoTopicCreation())
	for range 2 { // the second would find what the first had made
		_, err := kafka.New(quick(nil)).Subscribe(t.Context(), cluster.Settings("nowhere", "group"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, `"nowhere"`)
		require.ErrorContains(t, err, "does not exist")
		_, err = kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("nowhere", ""), annotate.ConnectOptions{})
		require.ErrorContains(t, err, "does not exist")
	}
}

func TestBroker_impossibleSettings_areNotUnavailability(t *testing.T) {
	for name, spoil := range map[string]func(*annotate.Topic){
		"protocol":  func(s *annotate.Topic) { kafkatest.Change(s, func(k *kafka.Settings) { k.Protocol = "HTTP" }) },
		"mechanism": func(s *annotate.Topic) { kafkatest.Change(s, func(k *kafka.Settings) { k.Mechanism = "GSSAPI" }) },
		"reset":     func(s *annotate.Topic) { kafkatest.Change(s, func(k *kafka.Settings) { k.OffsetReset = "middle" }) },
		"user":      func(s *annotate.Topic) { kafkatest.Change(s, func(k *kafka.Settings) { k.Protocol = kafka.SASLSSL }) },
		"port":      func(s *annotate.Topic) { kafkatest.Change(s, func(k *kafka.Settings) { k.Port = 0 }) },
		"topic":     func(s *annotate.Topic) { s.Name = "a/b" },
		"settings":  func(s *annotate.Topic) { s.Settings = nil },
		"type":      func(s *annotate.Topic) { s.Broker = "MQTT" },
	} {
		t.Run(name, func(t *testing.T) {
			settings := annotate.Topic{
				Name: "topic", Broker: kafka.Type,
				Settings: kafka.Settings{Host: "127.0.0.1", Port: 1},
			}
			spoil(&settings)
			_, err := kafka.New(nil).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
			require.Error(t, err)
			require.NotErrorIs(t, err, annotate.ErrBrokerUnavailable)
		})
	}
}

func TestBroker_Connect_failsALargeMessageAlone(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 10_000)
	p, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("topic", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	var failed []int
	for n, size := range []int{10, 20_000, 30, 9_000, 9_000, 40} {
		require.NoError(t, p.Publish(t.Context(), annotate.Message{Payload: make([]byte, size)}, func(err error) {
			if err != nil {
				failed = append(failed, n)
			}
		}))
	}
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, []int{1}, failed)
	require.Len(t, cluster.Committed("topic", 1), 5)
}

func TestBroker_connectsOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // for its certificate
	defer server.Close()
	cluster := kafkatest.Embedded(t, kfake.TLS(&tls.Config{Certificates: server.TLS.Certificates}), kfake.SeedTopics(1, "topic"))
	settings := cluster.Settings("topic", "group")
	kafkatest.Change(&settings, func(k *kafka.Settings) { k.Protocol = kafka.SSL })
	options := quick(nil)
	_, err := kafka.New(options).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, "certificate")

	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	options.TLS = &tls.Config{RootCAs: roots}
	sub, err := kafka.New(options).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, sub.Close(t.Context()))
}

func TestBroker_outage_isNoticedAtOnce(t *testing.T) {
	settings := annotate.Topic{
		Name: "topic", Broker: kafka.Type,
		Settings: kafka.Settings{Host: "127.0.0.1", Port: 1},
	}
	_, err := kafka.New(&kafka.Options{ConnectTimeout: time.Hour}).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
}
