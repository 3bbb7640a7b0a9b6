// Package exposition serves metrics in the text format of Prometheus.
package exposition

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Handler returns the function of a route that answers with the metrics of the collectors
// and of the process, from a registry of its own. It panics if two collectors have a metric
// in common.
func Handler(own ...prometheus.Collector) httpapi.HandlerFunc {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return httpapi.Handler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}
