package mqtt_test

import (
	"testing"

	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

func TestDriver_settingsPassTheSuite(t *testing.T) {
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: mqtt.Driver(nil, nil), Topic: "weather/json",
		Good: `{"protocol": "tls", "host": "h", "port": 8883, "version": "5", "clientId": "c", "shareName": "s",
			"user": "u", "password": "p"}`,
		Free: []string{"version", "clientId", "shareName"},
		Bad: map[string]string{
			"protocol":  `{"host": "h", "port": 1}`,
			"host":      `{"protocol": "tcp", "port": 1}`,
			"port":      `{"protocol": "tcp", "host": "h", "port": 70000}`,
			"version":   `{"protocol": "tcp", "host": "h", "port": 1, "version": "4"}`,
			"clientId":  `{"protocol": "tcp", "host": "h", "port": 1, "clientId": 1}`,
			"shareName": `{"protocol": "tcp", "host": "h", "port": 1, "shareName": []}`,
			"user":      `{"protocol": "tcp", "host": "h", "port": 1, "user": {}}`,
			"password":  `{"protocol": "tcp", "host": "h", "port": 1, "password": true}`,
		},
	})
}
