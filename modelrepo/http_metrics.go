package modelrepo

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves what the store counts, and the process, in the text format of
// Prometheus, from a registry of its own.
func metrics(s *Store) httpapi.HandlerFunc {
	registry := prometheus.NewRegistry()
	for name, count := range map[string]struct {
		help string
		of   func(Stats) uint64
	}{
		"uploads_total":          {"Uploads that were stored.", func(s Stats) uint64 { return s.Uploads }},
		"uploaded_bytes_total":   {"Bytes of the uploads that were stored.", func(s Stats) uint64 { return s.UploadedBytes }},
		"downloads_total":        {"Downloads that were answered.", func(s Stats) uint64 { return s.Downloads }},
		"downloaded_bytes_total": {"Bytes of content that went out.", func(s Stats) uint64 { return s.DownloadedBytes }},
		"events_delivered_total": {"Events that callbacks of webhooks took.", func(s Stats) uint64 { return s.Delivered }},
		"events_given_up_total":  {"Events that were dropped because no callback took them.", func(s Stats) uint64 { return s.GivenUp }},
		"collected_blobs_total":  {"Blobs that were deleted because nothing referred to them.", func(s Stats) uint64 { return s.CollectedBlobs }},
	} {
		registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "modelrepo_" + name, Help: count.help},
			func() float64 { return float64(count.of(s.Stats())) },
		))
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return httpapi.Handler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}
