package overview_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/overview"
)

func get(h http.Handler, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Body.String()
}

func TestNewHandler_showsWhatIsThere(t *testing.T) {
	events, models := &overview.Events{}, uint64(0)
	log := events.Of("Models", slog.New(slog.DiscardHandler))
	h := overview.NewHandler(overview.Config{Events: events, Steps: []overview.Step{{Text: "Make a <model>", Href: "models/"}},
		Blocks: func() []overview.Block {
			return []overview.Block{{Name: "Models", Href: "models/", Facts: []overview.Fact{{Name: "models", Value: models, Href: "models/"}}}}
		}}, nil)
	page := get(h, "/")
	require.Contains(t, page, "Make a &lt;model&gt;")
	require.Contains(t, page, "Nothing has happened since the start.")
	models = 3
	log.With("namespace", "w3c").Info("made a model", "name", "<sosa>")
	log.Debug("not an event")
	page = get(h, "/")
	require.NotContains(t, page, "Begin here")
	require.Contains(t, page, "made a model namespace=w3c name=&lt;sosa&gt;")
	require.Contains(t, get(h, "/state"), `"facts":[{"name":"models","value":3`)
	require.NotContains(t, get(h, "/state"), "not an event")
}

func TestEvents_areBounded(t *testing.T) {
	events := &overview.Events{}
	log := events.Of("Models", slog.New(slog.DiscardHandler))
	for range 1000 {
		log.Warn(strings.Repeat("ü", 1000))
	}
	last := events.Last(10_000)
	require.Len(t, last, 200)
	require.Equal(t, uint64(1000), last[0].Number)
	require.Equal(t, "warn", last[0].Level)
	require.Less(t, len(last[0].Text), 600)
}
