package gateway

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics. They have one series for each route, service and status that has
// occurred, and no label with anything of a request in it.
const (
	metricRequests = "gateway_requests_total"
	metricOpen     = "gateway_requests_open"
	metricDuration = "gateway_request_duration_seconds"
	metricUpstream = "gateway_upstream_duration_seconds"
	metricBytes    = "gateway_body_bytes_total"
)

// descriptions are the descriptions of the metrics for Prometheus.
type descriptions struct{ requests, open, duration, upstream, bytes *prometheus.Desc }

func describe() descriptions {
	labels := []string{"service", "route"}
	return descriptions{
		requests: prometheus.NewDesc(metricRequests, "Requests that are over, by status.", append(labels, "status"), nil),
		open:     prometheus.NewDesc(metricOpen, "Requests that are not over.", labels, nil),
		duration: prometheus.NewDesc(metricDuration, "Seconds from a request to the end of its response.", labels, nil),
		upstream: prometheus.NewDesc(metricUpstream, "Seconds until a service has begun to answer.", labels, nil),
		bytes:    prometheus.NewDesc(metricBytes, "Bytes of bodies, of requests (in) and responses (out).", append(labels, "direction"), nil),
	}
}

// Describe implements prometheus.Collector.
func (t *traffic) Describe(out chan<- *prometheus.Desc) {
	d := describe()
	for _, desc := range []*prometheus.Desc{d.requests, d.open, d.duration, d.upstream, d.bytes} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (t *traffic) Collect(out chan<- prometheus.Metric) {
	d := describe()
	seen := map[[2]string]bool{}
	for _, s := range t.accounts() {
		route := s.route
		if seen[[2]string{s.service, route}] { // two routes with one name cannot be, with one id as name could
			route = s.id
		}
		seen[[2]string{s.service, route}] = true
		for status := range s.statuses {
			if n := s.statuses[status].Load(); n > 0 {
				out <- prometheus.MustNewConstMetric(d.requests, prometheus.CounterValue, float64(n), s.service, route, strconv.Itoa(status))
			}
		}
		out <- prometheus.MustNewConstMetric(d.open, prometheus.GaugeValue, float64(s.open.Load()), s.service, route)
		out <- s.total.metric(d.duration, s.service, route)
		out <- s.upstream.metric(d.upstream, s.service, route)
		out <- prometheus.MustNewConstMetric(d.bytes, prometheus.CounterValue, float64(s.in.Load()), s.service, route, "in")
		out <- prometheus.MustNewConstMetric(d.bytes, prometheus.CounterValue, float64(s.out.Load()), s.service, route, "out")
	}
}

func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(bucketBounds))
	var count uint64
	for i := range h.buckets {
		count += h.buckets[i].Load()
		if i < len(bucketBounds) {
			buckets[bucketBounds[i]] = count
		}
	}
	return prometheus.MustNewConstHistogram(desc, count, float64(h.nanos.Load())/1e9, buckets, labels...)
}
