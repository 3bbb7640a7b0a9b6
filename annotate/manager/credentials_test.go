package manager_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/storage"
)

// logBook keeps a log.
type logBook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *logBook) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// leaks are what must be seen nowhere.
var leaks = []string{"k4fka-user", "k4fka-pass", "mqtt-us3r", "mqtt-p4ss"}

func requireNoLeak(t *testing.T, where, text string) {
	t.Helper()
	for _, leak := range leaks {
		require.NotContains(t, text, leak, where)
	}
}

func TestManager_credentials_areShownNowhere(t *testing.T) {
	broker, documents, log := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments(), &logBook{}
	c := managerConfig(broker, documents)
	c.Secret = strings.Repeat("s", manager.SecretLength)
	c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, stop := runManager(t, c)
	rest := newClientOf(t, m)

	kafkaSettings := map[string]any{"host": "h", "port": 1, "user": leaks[0], "password": leaks[1],
		"protocol": "SASL_SSL", "saslMechanism": "SCRAM-SHA-256"}
	mqtt := map[string]any{"protocol": "ssl", "host": "h", "port": 1, "user": leaks[2], "password": leaks[3]}
	topic := func(name, kind string) map[string]any {
		return map[string]any{"topic": name, "brokerType": kind, "kafkaSettings": kafkaSettings, "mqttSettings": mqtt}
	}
	settings := map[string]any{
		"inputTopicSettings": topic("in", "KAFKA"), "outputTopicSettings": topic("out", "MQTT"), "errorTopicSettings": topic("err", "KAFKA"),
	}
	body := channelJSON(t, "secret", settings, nil, nil)
	rest.text(rest.send("POST", "/channels", body), 200, "secret")
	requireNoLeak(t, "answer to a second POST", rest.send("POST", "/channels", body).body)
	shown := rest.get("/channels/secret?all").body
	requireNoLeak(t, "GET", shown)
	require.Equal(t, 12, strings.Count(shown, annotate.Masked), "six connections, a user and a password each")
	requireNoLeak(t, "GET /channels", rest.get("/channels?all").body)
	requireNoLeak(t, "stored", stored(t, documents))
	require.Equal(t, 6, strings.Count(stored(t, documents), "aes-256-gcm:"))

	// What goes wrong says so without them.
	broker.Down()
	require.NoError(t, stop())
	m, stop = runManager(t, c)
	rest = newClientOf(t, m)
	requireFault := func(part string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(rest.get("/channels/secret?status").body, part) }, patience, time.Millisecond)
		requireNoLeak(t, "status", rest.get("/channels/secret?status").body)
		requireNoLeak(t, "service", rest.get("/status").body)
	}
	requireFault("unavailable")
	restored, err := m.Get("secret")
	require.NoError(t, err)
	require.Equal(t, leaks[1], restored.Input.Settings.(kafka.Settings).Password, "only the program has them")
	require.Equal(t, leaks[3], mqttOf(restored.Output).Password)
	broker.Up()

	// A copy of what is shown is refused with the place of the mask.
	var view struct{ Settings, Metadata json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(shown), &view))
	copied := strings.Replace(string(view.Settings), `"channelId":"secret"`, `"channelId":"copy"`, 1)
	refused := rest.send("POST", "/channels", `{"settings": `+copied+`, "metadata": `+string(view.Metadata)+`}`)
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.body, "settings.inputTopicSettings.")
	require.Contains(t, refused.body, "is the mask")

	// Another secret is the fault of that channel alone.
	create(t, m, config("plain"))
	require.NoError(t, stop())
	c.Secret = strings.Repeat("t", manager.SecretLength)
	m, _ = runManager(t, c)
	rest = newClientOf(t, m)
	requireFault("cannot be decrypted")
	require.Contains(t, status(t, m, "secret").Error, "inputTopicSettings")
	require.Eventually(t, func() bool { return !status(t, m, "plain").Stopped }, patience, time.Millisecond)
	for _, a := range []answer{
		rest.send("PATCH", "/channels/secret", `{"isStopped": false}`),
		rest.do("PATCH", "/channels/secret/restart", "", ""),
		rest.send("PUT", "/channels/secret/mapping", mappingJSON(t, "next")),
	} {
		require.Equal(t, 500, a.status)
		require.Contains(t, a.body, "cannot be decrypted")
		requireNoLeak(t, "error", a.body)
	}
	requireNoLeak(t, "stored", stored(t, documents))
	require.Equal(t, 6, strings.Count(stored(t, documents), "aes-256-gcm:"), "the old secret can still open it")
	rest.text(rest.do("DELETE", "/channels/secret", "", ""), 200, "Stopped and removed channel with ID: secret")
	requireNoLeak(t, "log", log.text())
	require.NotEmpty(t, log.text())
}

// stored returns everything that a storage holds.
func stored(t *testing.T, documents storage.Documents) string {
	t.Helper()
	var text strings.Builder
	for document, err := range storage.All(t.Context(), documents, "") {
		require.NoError(t, err)
		text.WriteString(document.Key)
		text.Write(document.Data)
	}
	return text.String()
}
