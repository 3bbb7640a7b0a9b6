// Package telemetry exports the traces of the commands with OpenTelemetry's SDK, over OTLP with
// HTTP and protobuf. It is the only package that links the SDK.
//
// The standard variables decide: traces are exported where OTEL_TRACES_EXPORTER is otlp, or is
// not set while OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is, and never
// where OTEL_SDK_DISABLED is true. docs/telemetry.md lists those that are honoured.
//
// The client of OTLP is a short one of this package. The one of OpenTelemetry links gRPC and
// its gateway also for HTTP, 3 MB more in each command
// (docs/adr/0040-watching.md has the figures).
package telemetry
