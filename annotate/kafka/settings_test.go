package kafka_test

import (
	"testing"

	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/kafka"
)

func TestDriver_settingsPassTheSuite(t *testing.T) {
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: kafka.Driver(nil, nil), Topic: "weather",
		Good: `{"protocol": "SASL_SSL", "host": "h", "port": 9093, "groupId": "g", "offsetReset": "earliest",
			"saslMechanism": "SCRAM-SHA-512", "user": "u", "password": "p"}`,
		Free: []string{"groupId", "offsetReset"},
		Bad: map[string]string{
			"protocol":      `{"host": "h", "port": 1, "protocol": "HTTP"}`,
			"host":          `{"port": 1}`,
			"port":          `{"host": "h"}`,
			"groupId":       `{"host": "h", "port": 1, "groupId": 3}`,
			"offsetReset":   `{"host": "h", "port": 1, "offsetReset": "middle"}`,
			"saslMechanism": `{"host": "h", "port": 1, "saslMechanism": "GSSAPI"}`,
			"user":          `{"host": "h", "port": 1, "user": false}`,
			"password":      `{"host": "h", "port": 1, "password": 1}`,
		},
	})
}
