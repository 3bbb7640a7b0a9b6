package manager_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// before is what an earlier version stored and answered, whose package annotate
// had the settings of MQTT and Kafka: testdata/before.json.
type before struct {
	Documents map[string]string // by key
	Answers   map[string]string // by path: status and body
	Refused   map[string]string // by body of a POST: status and body
}

func readBefore(t *testing.T) (before, storage.Documents) {
	t.Helper()
	data, err := os.ReadFile("testdata/before.json")
	require.NoError(t, err)
	var b before
	require.NoError(t, json.Unmarshal(data, &b))
	documents := storage.NewMemoryDocuments()
	for key, text := range b.Documents {
		_, err := documents.Create(t.Context(), key, []byte(text))
		require.NoError(t, err)
	}
	return b, documents
}

func TestManager_documentsOfTheVersionBefore(t *testing.T) {
	b, documents := readBefore(t)
	c := managertest.Config(annotate.NewMemoryBroker(nil), documents)
	c.Secret = "0123456789abcdef0123456789abcdef"
	m, stop := managertest.Start(t, c)
	require.Eventually(t, func() bool { return !managertest.Status(t, m, "plain").Stopped }, managertest.Patience, time.Millisecond)
	handler := rest.NewHandler(m, &rest.HandlerOptions{Version: "1"})
	send := func(method, path, body string) string {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Host = "localhost"
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return fmt.Sprintf("%d %s", answer.Code, answer.Body)
	}
	for path, want := range b.Answers { // mongoHost and mongoPort came since
		require.Equal(t, want, send(http.MethodGet, path, ""), path)
	}
	for body, want := range b.Refused {
		require.Equal(t, want, send(http.MethodPost, "/channels", body), body)
	}

	// What is stored anew is the same, but for the nonces of the credentials.
	for _, switched := range []manager.Switch{manager.On, manager.Off} {
		_, err := m.Patch(t.Context(), "full", manager.Update{Error: switched})
		require.NoError(t, err)
	}
	document, err := documents.Get(t.Context(), "channels/full")
	require.NoError(t, err)
	require.Equal(t, withoutCredentials(t, b.Documents["channels/full"]), withoutCredentials(t, string(document.Data)))

	require.NoError(t, stop())
	m, _ = managertest.Start(t, c)
	full, err := m.Get("full")
	require.NoError(t, err)
	require.Equal(t, "p", managertest.MQTT(full.Input).Password)
	require.Equal(t, "only", managertest.MQTT(*full.Error).Password)
	require.Equal(t, "kp", managertest.Spare(full, annotate.InputTopic, kafka.Type).(kafka.Settings).Password)
}

// withoutCredentials cuts the credentials out of a stored channel.
func withoutCredentials(t *testing.T, text string) string {
	t.Helper()
	head, tail, found := strings.Cut(text, `"credentials":{`)
	require.True(t, found)
	_, tail, found = strings.Cut(tail, "}")
	require.True(t, found)
	return head + tail
}

func TestManager_keepsTheSettingsOfKindsWithoutADriver(t *testing.T) {
	b, documents := readBefore(t)
	c := managertest.Config(annotate.NewMemoryBroker(nil), documents)
	c.Secret = "0123456789abcdef0123456789abcdef"
	c.Drivers = []annotate.Driver{mqtt.Driver(annotate.NewMemoryBroker(nil), nil)}
	m, _ := managertest.Start(t, c)
	mqttOnly := managertest.Channel("mqtt only")
	mqttOnly.Stopped = true
	managertest.Create(t, m, mqttOnly)
	document, err := documents.Get(t.Context(), "channels/mqtt only")
	require.NoError(t, err)

	// Another instance, which has the driver, adds settings for its kind.
	foreign := strings.Replace(string(document.Data), `"brokerType":"MQTT"`, `"brokerType":"MQTT","kafkaSettings":{"host":"k","port":2}`, 1)
	foreign = strings.Replace(foreign, `"incarnation"`, `"credentials":{"inputTopicSettings kafka":"clear:{}"},"incarnation"`, 1)
	require.NoError(t, documents.Delete(t.Context(), document.Key, document.Revision))
	_, err = documents.Create(t.Context(), document.Key, []byte(foreign))
	require.NoError(t, err)
	require.Contains(t, b.Documents, "channels/plain")
	m, _ = managertest.Start(t, c)
	require.NoError(t, m.SetMapping(t.Context(), "mqtt only", annotate.Mapping{
		InputFormat: annotate.JSON, OutputFormat: annotate.Turtle, RML: managertest.Mapping,
	}))
	document, err = documents.Get(t.Context(), "channels/mqtt only")
	require.NoError(t, err)
	require.Contains(t, string(document.Data), `"kafkaSettings":{"host":"k","port":2}`)
	require.Contains(t, string(document.Data), `"inputTopicSettings kafka":"clear:{}"`)
}
