package rest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the metrics of the publisher and of the process, in the text format of
// Prometheus, from a registry of its own.
func (r *rest) metrics() httpapi.HandlerFunc {
	var counters []prometheus.Collector
	for name, count := range map[string]struct {
		help string
		of   func(apimgmt.Totals) uint64
	}{
		"changes_total":         {"Changes of the catalogue that were made.", func(t apimgmt.Totals) uint64 { return t.Changes }},
		"refused_changes_total": {"Changes that were refused.", func(t apimgmt.Totals) uint64 { return t.Refused }},
		"failed_changes_total": {"Changes that failed because of the storage or the gateway.",
			func(t apimgmt.Totals) uint64 { return t.Failed }},
		"healed_total": {"Repairs of a gateway that served something else than the catalogue.",
			func(t apimgmt.Totals) uint64 { return t.Healed }},
	} {
		counters = append(counters, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "publisher_" + name, Help: count.help},
			func() float64 { return float64(count.of(r.publisher.Totals())) },
		))
	}
	return exposition.Handler(counters...)
}
