package rest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the counts of the store and the handler, and of the process, in the
// text format of Prometheus, from a registry of its own.
func (r *rest) metrics() httpapi.HandlerFunc {
	var counters []prometheus.Collector
	for _, metric := range []struct {
		name, help string
		count      func() uint64
	}{
		{"uploads_total", "Uploads that were stored.", func() uint64 { return r.store.Stats().Uploads }},
		{"uploaded_bytes_total", "Bytes of the uploads that were stored.",
			func() uint64 { return r.store.Stats().UploadedBytes }},
		{"downloads_total", "Downloads that were answered.", r.downloads.Load},
		{"downloaded_bytes_total", "Bytes of content that went out.", r.downloadedBytes.Load},
		{"events_delivered_total", "Events that callbacks of webhooks took.",
			func() uint64 { return r.store.Stats().Delivered }},
		{"events_given_up_total", "Events that were dropped because no callback took them.",
			func() uint64 { return r.store.Stats().GivenUp }},
		{"collected_blobs_total", "Blobs that were deleted because nothing referred to them.",
			func() uint64 { return r.store.Stats().CollectedBlobs }},
	} {
		counters = append(counters, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "modelrepo_" + metric.name, Help: metric.help},
			func() float64 { return float64(metric.count()) },
		))
	}
	return exposition.Handler(counters...)
}
