// Package exposition serves metrics in the text format of Prometheus.
package exposition

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// NewRegistry returns a registry with the collectors and the metrics of the process, go_ and
// process_. It panics if two collectors have a metric in common.
func NewRegistry(own ...prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Handler returns the function of a route that answers with the metrics of the collectors
// and of the process, from a registry of its own, and with what [Serve] adds. It panics if two
// collectors have a metric in common.
func Handler(own ...prometheus.Collector) httpapi.HandlerFunc { return Serve(NewRegistry(own...)) }

// Serve returns the function of a route that answers with what a gatherer has, and with what
// the context of the request carries, see [httpapi.Instruments]: the requests of all handlers of
// the process, http_requests_total, http_request_duration_seconds and http_requests_open, and
// the version of the program, <command>_build_info. A metric that the gatherer has already is
// left as the gatherer has it.
func Serve(gatherer prometheus.Gatherer) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		instruments := httpapi.InstrumentsOf(r.Context())
		if instruments == nil {
			instruments = &httpapi.Instruments{}
		}
		own := prometheus.NewRegistry()
		own.MustRegister(newTrafficCollector(instruments.Traffic))
		if instruments.Command != "" {
			own.MustRegister(buildInfo(instruments.Command, instruments.Version))
		}
		all := prometheus.Gatherers{gatherer, own}
		promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
		return nil
	}
}

// buildInfo is a metric that is always 1, with what the program was built from.
func buildInfo(command, version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: strings.ReplaceAll(command, "-", "_") + "_build_info", Help: "What the program was built from; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// trafficCollector reads the counts of requests when they are scraped.
type trafficCollector struct {
	traffic              *httpapi.Traffic // nil counts nothing
	total, seconds, open *prometheus.Desc
}

func newTrafficCollector(traffic *httpapi.Traffic) *trafficCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("http_"+name, help, labels, nil)
	}
	return &trafficCollector{
		traffic: traffic,
		total:   desc("requests_total", "Requests that are over.", "method", "route", "status"),
		seconds: desc("request_duration_seconds", "Time from a request to the end of its answer.", "method", "route", "status"),
		open:    desc("requests_open", "Requests that are not answered yet.", "method", "route"),
	}
}

// Describe implements prometheus.Collector.
func (c *trafficCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.total
	descs <- c.seconds
	descs <- c.open
}

// Collect implements prometheus.Collector.
func (c *trafficCollector) Collect(metrics chan<- prometheus.Metric) {
	if c.traffic == nil {
		return
	}
	for _, r := range c.traffic.Requests() {
		status := strconv.Itoa(r.Status)
		metrics <- prometheus.MustNewConstMetric(c.total, prometheus.CounterValue, float64(r.Count), r.Method, r.Route, status)
		metrics <- prometheus.MustNewConstHistogram(c.seconds, r.Count, r.Seconds, r.Buckets, r.Method, r.Route, status)
	}
	for _, r := range c.traffic.Open() {
		metrics <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(r.Count), r.Method, r.Route)
	}
}
