//go:build !no_otlp

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

// flushPatience is how long the export of the last spans may take.
const flushPatience = 5 * time.Second

var _ server.TraceOpener = Open

// Open returns the provider of a command's traces, nil if the environment asks for none, and
// what exports the last spans. With variables that cannot be used, which may be meant for other
// programs, it logs what is wrong and returns no provider. Spans are exported in the background;
// while the receiver is away they are dropped, and the log has a line from time to time.
func Open(ctx context.Context, command string, log *slog.Logger) (trace.TracerProvider, func()) {
	if !wanted(log) {
		return nil, func() {}
	}
	provider, err := open(ctx, command, log)
	if err != nil {
		log.Error("no traces are exported, since a setting of OpenTelemetry cannot be used; OTEL_TRACES_EXPORTER=none turns them off",
			"error", err)
		return nil, func() {}
	}
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushPatience)
		defer cancel()
		if err := provider.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			log.Warn("the last spans are not exported", "error", err)
		} else if err != nil {
			log.Error("closing the export of traces failed", "error", err)
		}
	}
}

// open returns the provider that the environment describes.
func open(ctx context.Context, command string, log *slog.Logger) (*sdk.TracerProvider, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, newClient(s))
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", command), attribute.String("service.version", version.String())),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // the last one wins
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; expected NAME=VALUE separated by commas", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(&reporting{SpanExporter: exporter, log: log}))
	log.Info("traces are exported", "endpoint", s.endpoint.Redacted())
	return provider, nil
}
