package brokertest_test

import (
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
)

// memory is a harness over the in-memory broker.
func memory() brokertest.Harness {
	b := annotate.NewMemoryBroker(nil)
	return brokertest.Harness{
		Broker: b,
		Topic: func(topic, client string) annotate.Topic {
			return annotate.Topic{Name: topic, Broker: annotate.Memory, Settings: annotate.MemorySettings{Name: client}}
		},
		Cut:     b.Down,
		Restore: b.Up,
	}
}

func TestRun_passesForTheMemoryBroker(t *testing.T) {
	brokertest.Run(t, memory())
}

func TestSettings_passesForTheMemoryDriver(t *testing.T) {
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: annotate.MemoryDriver(nil), Topic: "weather/json",
		Good: `{"name": "station"}`, Bad: map[string]string{"name": `{"name": 7}`},
	})
}
