package overview_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/overview"
)

func TestEvents_Last_isBoundedForEachBlock(t *testing.T) {
	events := &overview.Events{}
	events.Add(overview.Event{Block: "Training", Text: "job finished"})
	for i := range 1000 {
		events.Add(overview.Event{Block: "Models", Text: fmt.Sprint(i, strings.Repeat("ü", 1000)), Detail: strings.Repeat("ü", 1000)})
	}
	last := events.Last(10_000)
	require.Len(t, last, 51)
	require.Equal(t, "job finished", last[50].Text, "a block with many events does not displace those of others")
	require.True(t, strings.HasPrefix(last[0].Text, "999"))
	require.Less(t, len(last[0].Text), 600)
	require.Less(t, len(last[0].Detail), 600)
	require.Len(t, events.Last(3), 3)
}

func TestEvents_Add_countsWhatHappensAgain(t *testing.T) {
	events, now := &overview.Events{}, time.Now()
	late := func(at time.Time, href string) overview.Event {
		return overview.Event{At: at, Block: "Links", Text: "late", Href: href}
	}
	events.Add(late(now, "a"))
	events.Add(overview.Event{At: now, Block: "Models", Text: "late", Href: "a"})
	events.Add(late(now.Add(time.Second), "a"))
	events.Add(late(now.Add(time.Second), "b"))
	events.Add(late(now.Add(5*time.Minute), "a"))
	type brief struct {
		Block, Href   string
		Times, Number int
	}
	var all []brief
	for _, e := range events.Last(10) {
		all = append(all, brief{e.Block, e.Href, e.Times, int(e.Number)})
	}
	require.Equal(t, []brief{{"Links", "a", 1, 5}, {"Links", "b", 1, 4}, {"Links", "a", 2, 3}, {"Models", "a", 1, 2}}, all)
}

func TestEvents_Logger_keepsLinesFromItsLevelOn(t *testing.T) {
	events, out := &overview.Events{}, &bytes.Buffer{}
	log := events.Logger(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError})), overview.Source{
		Block: "Annotation", Href: func(a map[string]string) string { return "channels/" + a["channel"] },
	}).With("channel", "weather")
	log.Debug("quiet")
	log.Info("channel started", "stack", "one\ntwo", "sha256", strings.Repeat("0f", 32), "before", "", "superseded", []string{})
	log.WithGroup("in").Error("channel failed", "error", errors.New("broker away"))
	last := events.Last(10)
	require.Len(t, last, 2)
	require.Equal(t, "channel failed", last[0].Text)
	require.Equal(t, "channel weather, error broker away", last[0].Detail)
	require.Equal(t, "channels/weather", last[0].Href)
	require.Equal(t, "error", last[0].Level)
	require.Equal(t, "channel weather", last[1].Detail)
	require.Contains(t, out.String(), "broker away")
	require.NotContains(t, out.String(), "channel started", "the log keeps its own level")

	warnings := events.Logger(slog.New(slog.DiscardHandler), overview.Source{Block: "Models", Level: slog.LevelWarn})
	warnings.Info("collected")
	warnings.Warn("disk is almost full")
	require.Equal(t, "disk is almost full", events.Last(1)[0].Text)
	require.Equal(t, "warn", events.Last(1)[0].Level)
}
