package gateway

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Options configure a [Gateway]. The zero value is ready to use.
type Options struct {
	// Kinds are the plugins that configurations may name; plugin.Kinds() has the
	// built-in ones. Nil means none.
	Kinds []Kind
	// AllowUpstreams are the addresses besides public ones that may be connected
	// to. Nil means none: no loopback, private, link-local or shared address.
	AllowUpstreams []netip.Prefix
	// TrustedProxies are the addresses whose X-Forwarded header fields are used.
	// Nil means none.
	TrustedProxies []netip.Prefix
	// MaxBody is the greatest request body in bytes; a greater one is answered with
	// 413. Zero means any.
	MaxBody int64
	// Transport configures the connections to services.
	Transport TransportOptions
	// Logger receives failures and warnings for operators. Nil is silent.
	Logger *slog.Logger
	// AccessLog gets a line for each request, without query, header fields and
	// bodies: at the level Warn, with the reason, for one that has failed, and at Info
	// for the others. Nil means none.
	AccessLog *slog.Logger
	// Registerer gets the metrics. Nil means none are registered.
	Registerer prometheus.Registerer
	// TracerProvider gets a span of each request, below that of the client's traceparent, and one
	// of each attempt at a service, whose context the service gets. Nil creates none, and
	// traceparent passes as the client has sent it.
	TracerProvider trace.TracerProvider
	// MaxMeasuredRoutes bounds the routes with metrics of their own; those beyond
	// share the route "other" of their service, for as many services. Zero means 1000.
	MaxMeasuredRoutes int
	// Name is the name of the gateway in Via and Server. Empty means
	// "enablers".
	Name string
}

const (
	// maxIdlePerHost is the greatest number of idle connections to one address.
	maxIdlePerHost = 512
	// maxResponseHeader is the greatest header of a service's response in bytes.
	maxResponseHeader = 256 << 10
)

// TransportOptions configure the connections to services.
type TransportOptions struct {
	// IdleTimeout is the time for which an idle connection is kept for the next request. Zero
	// means 60 seconds.
	IdleTimeout time.Duration
	// RootCAs verify the certificates of services. Nil means the system's.
	RootCAs *x509.CertPool
	// NetHTTP has every service spoken to with net/http, also those over HTTP/1.1
	// without TLS, for which the gateway has a client of its own; see
	// docs/adr/0001-http1-to-services.md.
	NetHTTP bool
}

// withDefaults returns options with every default filled in, or an error that
// names the field.
func (o Options) withDefaults() (Options, error) {
	if o.MaxBody < 0 {
		return o, errors.New("gateway: Options.MaxBody: less than zero")
	}
	if o.MaxMeasuredRoutes < 0 {
		return o, errors.New("gateway: Options.MaxMeasuredRoutes: less than zero")
	}
	seen := map[string]bool{}
	for _, kind := range o.Kinds {
		if kind.Name == "" || kind.Compile == nil {
			return o, fmt.Errorf("gateway: Options.Kinds: %q lacks a name or Compile", kind.Name)
		}
		if seen[kind.Name] {
			return o, fmt.Errorf("gateway: Options.Kinds: %q is there twice", kind.Name)
		}
		seen[kind.Name] = true
	}
	o.MaxMeasuredRoutes = cmp.Or(o.MaxMeasuredRoutes, 1000)
	o.Name = cmp.Or(o.Name, "enablers")
	o.Transport.IdleTimeout = cmp.Or(o.Transport.IdleTimeout, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
