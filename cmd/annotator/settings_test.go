package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// writeConfig makes a file of settings.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "annotator.conf")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestReadSettings_hasTheDefaultsOfTheSpecification(t *testing.T) {
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:8080", s.address())
	require.Equal(t, "./data/annotator", s.Stores.Data())
	require.Equal(t, 20*time.Second, s.MaxShutdown)
	require.Equal(t, 1500*time.Millisecond, s.LeaseDuration)
	require.False(t, s.standalone)
	require.False(t, s.RestoreStopped)
	require.Equal(t, annotate.Defaults{
		Parallelism: 2, BufferSize: 10,
	}, s.Defaults)
	require.Equal(t, mqtt.Defaults{
		Protocol: "tcp", Host: "127.0.0.1", Port: 1883,
		ClientIDs: mqtt.ClientIDs{
			Input: "semann/source", Output: "semann/sink", Error: "semann/error",
			MonitorInput: "semann/monitor/input", MonitorOutput: "semann/monitor/output",
		},
	}, s.MQTT)
	require.Equal(t, kafka.Defaults{Host: "127.0.0.1", Port: 9093}, s.Kafka)
}

func TestReadSettings_readsEveryVariableOfTheSpecification(t *testing.T) {
	secret := "0123456789abcdef0123456789abcdef"
	for name, value := range map[string]string{
		"ANNOTATOR_REST_HOST": "127.0.0.9", "ANNOTATOR_REST_PORT": "9000",
		"ANNOTATOR_STANDALONE_MODE": "true", "ANNOTATOR_RESTORE_STOPPED": "true",
		"ANNOTATOR_ENCRYPTION_AUTH_SECRET": secret,
		"ANNOTATOR_LOG_LEVEL":              "DEBUG", "ANNOTATOR_LOG_TO_FILE": "true",
		"ANNOTATOR_KAFKA_HOST": "kafka.example", "ANNOTATOR_KAFKA_PORT": "9999",
		"ANNOTATOR_MQTT_PROTOCOL": "ssl", "ANNOTATOR_MQTT_HOST": "mqtt.example", "ANNOTATOR_MQTT_PORT": "8883",
		"ANNOTATOR_MQTT_INPUT_CLIENT_ID": "a", "ANNOTATOR_MQTT_OUTPUT_CLIENT_ID": "b", "ANNOTATOR_MQTT_ERROR_CLIENT_ID": "c",
		"ANNOTATOR_MQTT_MONITOR_INPUT_CLIENT_ID": "d", "ANNOTATOR_MQTT_MONITOR_OUTPUT_CLIENT_ID": "e",
		"ANNOTATOR_DATA": "/elsewhere", "ANNOTATOR_MAX_SHUTDOWN": "1m", "ANNOTATOR_PARALLELISM": "1", "ANNOTATOR_BUFFER_SIZE": "7",
	} {
		t.Setenv(name, value)
	}
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.9:9000", s.address())
	require.True(t, s.standalone)
	require.True(t, s.RestoreStopped)
	require.Equal(t, secret, s.Secret)
	require.Equal(t, "debug", s.Lookup("log-level").Value.String())
	require.Equal(t, "true", s.Lookup("log-to-file").Value.String())
	require.Equal(t, "/elsewhere", s.Stores.Data())
	require.Equal(t, time.Minute, s.MaxShutdown)
	require.Equal(t, annotate.Defaults{
		Parallelism: 1, BufferSize: 7,
	}, s.Defaults)
	require.Equal(t, mqtt.Defaults{
		Protocol: "ssl", Host: "mqtt.example", Port: 8883,
		ClientIDs: mqtt.ClientIDs{Input: "a", Output: "b", Error: "c", MonitorInput: "d", MonitorOutput: "e"},
	}, s.MQTT)
	require.Equal(t, kafka.Defaults{Host: "kafka.example", Port: 9999}, s.Kafka)
}

func TestReadSettings_prefersListenToHostAndPort(t *testing.T) {
	t.Setenv("ANNOTATOR_REST_PORT", "9000")
	s, err := readSettings([]string{"-listen", "127.0.0.1:0"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:0", s.address())
	s, err = readSettings([]string{"-rest-host", "::1"})
	require.NoError(t, err)
	require.Equal(t, "[::1]:9000", s.address())
}

func TestReadSettings_namesAWrongSetting(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"secret too short": {[]string{"-encryption-auth-secret", "short"},
			"-encryption-auth-secret (ANNOTATOR_ENCRYPTION_AUTH_SECRET): expected 32 bytes, got 5"},
		"secret of 31 bytes": {[]string{"-encryption-auth-secret", "0123456789abcdef0123456789abcde"},
			"-encryption-auth-secret (ANNOTATOR_ENCRYPTION_AUTH_SECRET): expected 32 bytes, got 31"},
		"port too large":     {[]string{"-rest-port", "65536"}, "-rest-port (ANNOTATOR_REST_PORT): expected 0 to 65535, got 65536"},
		"no mapper":          {[]string{"-parallelism", "0"}, "-parallelism (ANNOTATOR_PARALLELISM): expected 1 to 256, got 0"},
		"no time to stop":    {[]string{"-max-shutdown", "0s"}, "-max-shutdown"},
		"a lease too short":  {[]string{"-lease", "999ms"}, "-lease (ANNOTATOR_LEASE): expected 1s to 1h0m0s, got 999ms"},
		"unknown protocol":   {[]string{"-mqtt-protocol", "amqp"}, `expected one of tcp, mqtt, ssl, tls, mqtts, got "amqp"`},
		"unknown level":      {[]string{"-log-level", "loud"}, `invalid value "loud" for flag -log-level: expected debug, info, warn or error`},
		"unknown flag":       {[]string{"-bogus"}, "-bogus"},
		"an argument":        {[]string{"start"}, `unexpected argument "start"`},
		"file not there":     {[]string{"-config", "missing.conf"}, "missing.conf"},
		"unknown name in it": {[]string{"-config", writeConfig(t, "bogus 1\n")}, `"bogus"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readSettings(c.args)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRun_helpNamesEveryVariable(t *testing.T) {
	var help bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &help, nil))
	for _, name := range []string{
		"ANNOTATOR_REST_HOST", "ANNOTATOR_ENCRYPTION_AUTH_SECRET", "ANNOTATOR_MQTT_MONITOR_OUTPUT_CLIENT_ID",
		"environment DB_HOST, default 127.0.0.1", "environment DB_URI", "environment DB_PASSWORD\n",
		"ANNOTATOR_LISTEN", "ANNOTATOR_MAX_SHUTDOWN", "default 20s", "before the file of -config",
	} {
		require.Contains(t, help.String(), name)
	}
}
