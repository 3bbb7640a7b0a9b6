package rest_test

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
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
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

func TestNewHandler_credentials_areShownNowhere(t *testing.T) {
	broker := annotate.NewMemoryBroker(nil)
	documents := storage.NewMemoryDocuments()
	log := &logBook{}
	c := managertest.Config(broker, documents)
	c.Secret = strings.Repeat("s", manager.SecretLength)
	c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, stop := managertest.Start(t, c)
	api := newManagerClient(t, m)

	kafkaSettings := map[string]any{"host": "h", "port": 1, "user": managertest.Leaks()[0], "password": managertest.Leaks()[1],
		"protocol": "SASL_SSL", "saslMechanism": "SCRAM-SHA-256"}
	mqtt := map[string]any{"protocol": "ssl", "host": "h", "port": 1, "user": managertest.Leaks()[2], "password": managertest.Leaks()[3]}
	topic := func(name, kind string) map[string]any {
		return map[string]any{"topic": name, "brokerType": kind, "kafkaSettings": kafkaSettings, "mqttSettings": mqtt}
	}
	settings := map[string]any{
		"inputTopicSettings": topic("in", "KAFKA"), "outputTopicSettings": topic("out", "MQTT"), "errorTopicSettings": topic("err", "KAFKA"),
	}
	body := channelJSON(t, "secret", settings, nil, nil)
	api.text(api.send("POST", "/channels", body), 200, "secret")
	managertest.RequireNoLeak(t, "answer to a second POST", api.send("POST", "/channels", body).body)
	shown := api.get("/channels/secret?all").body
	managertest.RequireNoLeak(t, "GET", shown)
	require.Equal(t, 12, strings.Count(shown, annotate.Masked), "six connections, a user and a password each")
	managertest.RequireNoLeak(t, "GET /channels", api.get("/channels?all").body)
	managertest.RequireNoLeak(t, "stored", managertest.Stored(t, documents))
	require.Equal(t, 6, strings.Count(managertest.Stored(t, documents), "aes-256-gcm:"))

	// Errors are reported without them.
	broker.Down()
	require.NoError(t, stop())
	m, stop = managertest.Start(t, c)
	api = newManagerClient(t, m)
	requireFault := func(part string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(api.get("/channels/secret?status").body, part) },
			managertest.Patience, time.Millisecond)
		managertest.RequireNoLeak(t, "status", api.get("/channels/secret?status").body)
		managertest.RequireNoLeak(t, "service", api.get("/status").body)
	}
	requireFault("unavailable")
	restored, err := m.Get("secret")
	require.NoError(t, err)
	require.Equal(t, managertest.Leaks()[1], restored.Input.Settings.(kafka.Settings).Password, "only the program has them")
	require.Equal(t, managertest.Leaks()[3], managertest.MQTT(restored.Output).Password)
	broker.Up()

	// A copy of what is shown is refused with the place of the mask.
	var view struct{ Settings, Metadata json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(shown), &view))
	copied := strings.Replace(string(view.Settings), `"channelId":"secret"`, `"channelId":"copy"`, 1)
	refused := api.send("POST", "/channels", `{"settings": `+copied+`, "metadata": `+string(view.Metadata)+`}`)
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.body, "settings.inputTopicSettings.")
	require.Contains(t, refused.body, "is the mask")

	// Another secret is the fault of that channel alone.
	managertest.Create(t, m, managertest.Channel("plain"))
	require.NoError(t, stop())
	c.Secret = strings.Repeat("t", manager.SecretLength)
	m, _ = managertest.Start(t, c)
	api = newManagerClient(t, m)
	requireFault("cannot be decrypted")
	require.Contains(t, managertest.Status(t, m, "secret").Error, "inputTopicSettings")
	require.Eventually(t, func() bool { return !managertest.Status(t, m, "plain").Stopped }, managertest.Patience, time.Millisecond)
	for _, a := range []answer{
		api.send("PATCH", "/channels/secret", `{"isStopped": false}`),
		api.do("PATCH", "/channels/secret/restart", "", ""),
		api.send("PUT", "/channels/secret/mapping", mappingJSON(t, "next")),
	} {
		require.Equal(t, 500, a.status)
		require.Contains(t, a.body, "cannot be decrypted")
		managertest.RequireNoLeak(t, "error", a.body)
	}
	managertest.RequireNoLeak(t, "stored", managertest.Stored(t, documents))
	require.Equal(t, 6, strings.Count(managertest.Stored(t, documents), "aes-256-gcm:"), "the old secret can still open it")
	api.text(api.do("DELETE", "/channels/secret", "", ""), 200, "Stopped and removed channel with ID: secret")
	managertest.RequireNoLeak(t, "log", log.text())
	require.NotEmpty(t, log.text())
}
