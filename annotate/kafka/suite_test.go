package kafka_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// quick are options with which tests need not wait long.
func quick(cable *mqtttest.Proxy) *kafka.Options {
	o := &kafka.Options{
		HeartbeatInterval: 20 * time.Millisecond,
		SessionTimeout:    time.Minute, // a slow machine must not look dead
		ReconnectMin:      10 * time.Millisecond,
		ReconnectMax:      100 * time.Millisecond,
		CommitInterval:    50 * time.Millisecond,
		ConnectTimeout:    time.Minute,
		RebalanceTimeout:  time.Minute,
	}
	if cable != nil {
		o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, cable.String())
		}
	}
	return o
}

// harness runs the suite over a cluster, with one partition a topic.
func harness(t *testing.T) brokertest.Harness {
	cluster := kafkatest.Embedded(t)
	cable := mqtttest.NewProxy(t, cluster.Address)
	var mu sync.Mutex
	created := map[string]bool{}
	return brokertest.Harness{
		Broker:  kafka.New(quick(cable)),
		Cut:     cable.Cut,
		Restore: cable.Restore,
		Topic: func(topic, client string) annotate.Topic {
			mu.Lock()
			defer mu.Unlock()
			legal := strings.NewReplacer("/", ".", " ", "-").Replace(topic)
			if !created[legal] {
				created[legal] = true
				cluster.Topic(legal, 1, 8<<20)
			}
			settings := cluster.Settings(legal, strings.ReplaceAll(client, " ", "-"))
			kafkatest.Change(&settings, func(k *kafka.Settings) { k.OffsetReset = kafka.Latest })
			return settings
		},
	}
}

func TestBroker_passesTheSuite(t *testing.T) { brokertest.Run(t, harness(t)) }
