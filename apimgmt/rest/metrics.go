package rest

import (
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the metrics of the publisher, and of the process, from a registry of its own.
func (r *rest) metrics() httpapi.HandlerFunc {
	return exposition.Handler(exposition.Collector("publisher_", r.publisher.Totals))
}
