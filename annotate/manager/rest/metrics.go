package rest

import (
	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// channelMetrics are the metrics of all channels by their IDs.
type channelMetrics struct {
	Stats map[string]annotate.Stats `label:"channel"`

	Running map[string]bool `metric:"channel_running" label:"channel" help:"1 while the channel runs in this instance, otherwise 0."`
}

// metrics serves the metrics of all channels, and of the process, from a registry of its own.
func metrics(m *manager.Manager) httpapi.HandlerFunc {
	return exposition.Handler(exposition.Collector("annotator_", func() channelMetrics {
		running := map[string]bool{}
		for channel := range m.All() {
			elsewhere := channel.Status.Instance != "" && channel.Status.Instance != m.Config().Instance
			running[channel.ID] = !channel.Status.Stopped && !elsewhere
		}
		return channelMetrics{Stats: m.Stats(), Running: running}
	}))
}
