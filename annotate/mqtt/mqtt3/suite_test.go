package mqtt3_test

import (
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtt3"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// harness is the suite's view of a broker behind a proxy.
func harness(t *testing.T, target mqtttest.Address) brokertest.Harness {
	proxy := mqtttest.NewProxy(t, target)
	return brokertest.Harness{
		Broker:  swift(mqtt3.Options{}),
		Topic:   proxy.Settings,
		Cut:     proxy.Cut,
		Restore: proxy.Restore,
	}
}

// swift is a Broker that reconnects without the pauses of real life.
func swift(opts mqtt3.Options) *mqtt3.Broker {
	opts.ReconnectMin, opts.ReconnectMax = 5*time.Millisecond, 50*time.Millisecond
	return mqtt3.New(&opts)
}

func TestTheSuitePassesOverTheEmbeddedBroker(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.Embedded(t)))
}

func TestTheSuitePassesOverMosquitto(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.StartMosquitto(t).Address))
}
