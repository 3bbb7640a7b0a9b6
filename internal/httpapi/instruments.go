package httpapi

import (
	"context"
	"net/http"

	"github.com/iotenablers/enablers/internal/tracing"
)

// Instruments are what all handlers of a process have in common for those who watch it. The
// contexts of requests carry them, see [WithInstruments]. A handler whose requests carry none
// has a [Traffic] of its own, and is otherwise as with the zero value.
type Instruments struct {
	// Command and Version are the program, for the metric <command>_build_info. Empty means
	// that there is no such metric.
	Command, Version string
	// Traffic counts the requests. Required.
	Traffic *Traffic
	// Tracer creates a span of each request. Nil is off.
	Tracer *tracing.Tracer
	// Draining reports whether the process is about to stop, so that [Ready] says so. Nil
	// means that it is not.
	Draining func() bool
}

// instrumentsKey is the key of the instruments in a context.
type instrumentsKey struct{}

// WithInstruments returns a context that carries the instruments, for the requests of a server.
func WithInstruments(ctx context.Context, i *Instruments) context.Context {
	return context.WithValue(ctx, instrumentsKey{}, i)
}

// InstrumentsOf returns the instruments that a context carries, nil without.
func InstrumentsOf(ctx context.Context) *Instruments {
	i, _ := ctx.Value(instrumentsKey{}).(*Instruments)
	return i
}

// IsDraining reports whether the process is about to stop.
func (i *Instruments) IsDraining() bool { return i != nil && i.Draining != nil && i.Draining() }

// prefixKey is the key of what [StripPrefix] has stripped in a context.
type prefixKey struct{}

// StripPrefix is [http.StripPrefix] for handlers of this package: in their metrics, spans and logs
// paths and routes have the prefix. It can be nested.
func StripPrefix(prefix string, handler http.Handler) http.Handler {
	return http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), prefixKey{}, strippedPrefix(r.Context())+prefix)
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// strippedPrefix returns what StripPrefix has stripped, with that of the outermost first.
func strippedPrefix(ctx context.Context) string {
	prefix, _ := ctx.Value(prefixKey{}).(string)
	return prefix
}
