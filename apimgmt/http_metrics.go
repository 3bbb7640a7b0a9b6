package apimgmt

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the metrics of the publisher and of the process, in the text format of
// Prometheus, from a registry of its own.
func metrics(p *Publisher) httpapi.HandlerFunc {
	var counters []prometheus.Collector
	for name, count := range map[string]struct {
		help string
		of   func(Totals) uint64
	}{
		"changes_total":         {"Changes of the catalogue that were made.", func(t Totals) uint64 { return t.Changes }},
		"refused_changes_total": {"Changes that were refused.", func(t Totals) uint64 { return t.Refused }},
		"failed_changes_total":  {"Changes that failed because of the storage or the gateway.", func(t Totals) uint64 { return t.Failed }},
		"healed_total": {"Repairs of a gateway that served something else than the catalogue.",
			func(t Totals) uint64 { return t.Healed }},
	} {
		counters = append(counters, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "publisher_" + name, Help: count.help},
			func() float64 { return float64(count.of(p.Totals())) },
		))
	}
	return exposition.Handler(counters...)
}
