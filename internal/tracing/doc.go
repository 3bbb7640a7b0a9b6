// Package tracing creates spans with OpenTelemetry where a program asks for them, and
// nothing where it does not: a nil [Tracer] is off, its methods return at once and
// allocate nothing. Rooms take a trace.TracerProvider in their configuration, which is
// what a program that embeds them already has; the commands make theirs of the
// variables OTEL_*.
//
// Contexts of traces travel between processes as the texts of W3C Trace Context
// (https://www.w3.org/TR/trace-context/), see [Context].
package tracing
