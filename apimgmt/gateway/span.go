package gateway

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/tracing"
)

// The header fields of a trace's context, as net/http writes their names.
const (
	traceParent = "Traceparent"
	traceState  = "Tracestate"
)

// beginSpan begins the span of the request below the client's, where spans are recorded.
func (x *Exchange) beginSpan() {
	tracer := x.gateway.tracer
	if !tracer.On() {
		return
	}
	r := x.request
	name := knownMethod(r.Method)
	if x.route != nil {
		name += " " + x.route.stats.route
	}
	var remote tracing.Context
	if parent := r.Header[traceParent]; len(parent) == 1 {
		remote = tracing.Context{Parent: parent[0], State: r.Header.Get(traceState)}
	}
	ctx, span := tracer.Continue(r.Context(), remote, name, tracing.Server)
	span.Text("http.request.method", knownMethod(r.Method))
	span.Text("url.scheme", x.scheme)
	span.Text("url.path", x.path)
	span.Text("server.address", x.host)
	if x.route != nil {
		span.Text("http.route", x.route.stats.route)
	}
	x.span, x.request = span, r.WithContext(ctx)
}

// knownMethod is how spans name a method: one of any text could be a secret, or one of very many.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
		http.MethodOptions, http.MethodTrace:
		return method
	}
	return "_OTHER"
}

// endSpan ends the span of the request. One that no route was found for has its span here.
func (x *Exchange) endSpan() {
	if !x.gateway.tracer.On() {
		return
	}
	if x.route == nil {
		x.beginSpan()
	}
	x.span.Number("http.response.status_code", int64(x.response.Status))
	switch {
	case x.failure != nil:
		x.span.Fail(x.failure)
	case x.response.Status >= http.StatusInternalServerError:
		x.span.Fail(errors.New(http.StatusText(x.response.Status)))
	}
	x.span.End()
}

// beginAttempt begins the span of a request to a service, which gets its context. Without
// tracing what the client has sent is passed on.
func (f *forwarding) beginAttempt(number int) {
	x := f.x
	tracer := x.gateway.tracer
	if !tracer.On() {
		return
	}
	_, f.span = tracer.Start(x.request.Context(), knownMethod(x.upstream.Method), tracing.Client)
	f.span.Text("http.request.method", knownMethod(x.upstream.Method))
	f.span.Text("server.address", x.peer)
	if number > 0 {
		f.span.Number("http.request.resend_count", int64(number))
	}
	if x.lent { // a transport may still look at the one of the attempt before
		x.upstream.Header, x.lent = x.upstream.Header.Clone(), false
	}
	context := f.span.Context()
	x.upstream.Header[traceParent] = []string{context.Parent}
	delete(x.upstream.Header, traceState)
	if context.State != "" {
		x.upstream.Header[traceState] = []string{context.State}
	}
}

// endAttempt ends the span of a request to a service, which has failed unless the error is nil.
func (f *forwarding) endAttempt(status int, err error) {
	if status != 0 {
		f.span.Number("http.response.status_code", int64(status))
	}
	if err == nil && status >= http.StatusBadRequest {
		err = errors.New(http.StatusText(status))
	}
	f.span.Fail(err)
}
