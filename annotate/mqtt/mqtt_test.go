package mqtt_test

import (
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// harness is the suite's view of a broker behind a proxy.
func harness(t *testing.T, target mqtttest.Address, opts mqtt.Options) brokertest.Harness {
	proxy := mqtttest.NewProxy(t, target)
	return brokertest.Harness{
		Broker:  swift(opts),
		Topic:   proxy.Topic,
		Cut:     proxy.Cut,
		Restore: proxy.Restore,
	}
}

func TestBroker_passesTheSuiteWithTheEmbeddedBroker(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.Embedded(t), mqtt.Options{}))
}

func TestBroker_passesTheSuiteWithMosquitto(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, harness(t, mqtttest.StartMosquitto(t).Address, mqtt.Options{}))
}
