package rest

import (
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the metrics of a server, and of the process, from a registry of its own.
func metrics(totals func() flcollect.Totals) httpapi.HandlerFunc {
	return exposition.Handler(exposition.Collector("flcollector_", totals))
}
