package mqtt3_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// harness is the suite's view of a broker behind a proxy.
func harness(t *testing.T, target mqtttest.Address) brokertest.Harness {
	proxy := mqtttest.NewProxy(t, target)
	return brokertest.Harness{
		Broker:  swift(mqtt.Options{}),
		Topic:   proxy.Topic,
		Cut:     proxy.Cut,
		Restore: proxy.Restore,
	}
}

// swift is a Broker that reconnects without the pauses of real life.
func swift(opts mqtt.Options) annotate.Broker {
	opts.ReconnectMin, opts.ReconnectMax = 5*time.Millisecond, 50*time.Millisecond
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, patience)
	return newOld(&opts)
}

// old is a broker that speaks MQTT 3.1.1 only.
type old struct{ annotate.Broker }

func newOld(opts *mqtt.Options) annotate.Broker { return old{mqtt.New(opts)} }

func (b old) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Subscription, error) {
	return b.Broker.Subscribe(ctx, with311(topic), opts)
}

func (b old) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions,
) (annotate.Publisher, error) {
	return b.Broker.Connect(ctx, with311(topic), opts)
}

// with311 demands MQTT 3.1.1.
func with311(topic annotate.Topic) annotate.Topic {
	if s, ok := topic.Settings.(mqtt.Settings); ok {
		s.Version = mqtt.Version311
		topic.Settings = s
	}
	return topic
}

func TestBroker_passesTheSuiteWithTheEmbeddedBroker(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.Embedded(t)))
}

func TestBroker_passesTheSuiteWithMosquitto(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.StartMosquitto(t).Address))
}
