package manager

import (
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/history"
)

// Measured returns the plots after measurements of channels, each one step after the one
// before.
func Measured(measurements ...map[string]annotate.Stats) history.Plot {
	now := time.Unix(1_000_000_000, 0)
	g := gauge{store: history.New(&history.Options{Clock: func() time.Time { return now }})}
	for _, all := range measurements {
		g.measure(all)
		now = now.Add(history.Step)
	}
	return g.store.Query("", "10m")
}
