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
		{"damaged_downloads_total", "Downloads that were refused or broken off because the content is damaged.", r.damagedDownloads.Load},
		{"replaced_contents_total", "Damaged contents that got their bytes back from an upload.",
			func() uint64 { return r.store.Stats().ReplacedContents }},
		{"collected_blobs_total", "Blobs that were deleted because nothing referred to them.",
			func() uint64 { return r.store.Stats().CollectedBlobs }},
	} {
		counters = append(counters, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "modelrepo_" + metric.name, Help: metric.help},
			func() float64 { return float64(metric.count()) },
		))
	}
	counters = append(counters, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "modelrepo_damaged_contents", Help: "Contents that are known to be damaged."},
		func() float64 { return float64(r.store.Stats().DamagedContents) },
	))
	return exposition.Handler(counters...)
}
