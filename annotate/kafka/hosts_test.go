package kafka_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

func brokerHosts(t *testing.T, entries ...string) *annotate.BrokerHosts {
	t.Helper()
	hosts, err := annotate.NewBrokerHosts(entries, "-broker-hosts")
	require.NoError(t, err)
	return hosts
}

func TestDriver_refusesSettingsOfBrokersOffTheList(t *testing.T) {
	driver := kafka.Driver(kafka.New(&kafka.Options{Hosts: brokerHosts(t, "kafka.example.org:9092")}), nil)
	topic := annotate.Topic{Name: "t", Broker: kafka.Type, Settings: kafka.Settings{Host: "kafka.example.org", Port: 9092}}
	require.NoError(t, driver.Settings.Check(topic, annotate.InputTopic))
	topic.Settings = kafka.Settings{Host: "127.0.0.1", Port: 9092}
	err := driver.Settings.Check(topic, annotate.OutputTopic)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "kafkaSettings.host", field.Field)
	require.Contains(t, field.Reason, `"127.0.0.1:9092" is not a broker that channels may use`)
	require.Contains(t, field.Reason, "-broker-hosts")
	require.NoError(t, kafka.Driver(kafka.New(nil), nil).Settings.Check(topic, annotate.OutputTopic), "without a list")
}

// The settings name a broker of the list, and the cluster names one that is not.
func TestBroker_connectsToNoAdvertisedBrokerOffTheList(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "topic"))
	var mu sync.Mutex
	var dialled []string
	seed := net.JoinHostPort("seed.example.org", strconv.Itoa(cluster.Port))
	options := quick(nil)
	options.Hosts = brokerHosts(t, "seed.example.org")
	options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		dialled = append(dialled, address)
		mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, cluster.String())
	}
	topic := cluster.Settings("topic", "group")
	kafkatest.Change(&topic, func(s *kafka.Settings) { s.Host = "seed.example.org" })
	broker := kafka.New(options)
	failures := map[string]error{}
	_, failures["connect"] = broker.Connect(t.Context(), topic, annotate.ConnectOptions{})
	_, failures["subscribe"] = broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	_, _, failures["transact"] = broker.Transact(t.Context(), topic, topic, annotate.ConnectOptions{})
	for name, err := range failures {
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable, name)
		require.ErrorIs(t, err, annotate.ErrBrokerNotListed, name)
		require.ErrorContains(t, err, fmt.Sprintf("%q is not a broker that channels may use", cluster.String()), name)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(dialled)
	require.Equal(t, []string{seed}, slices.Compact(dialled), "of the cluster's brokers none")
}
