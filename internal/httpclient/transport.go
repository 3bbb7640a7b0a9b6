package httpclient

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/iotenablers/enablers/internal/tracing"
)

// transport creates a span of each request whose context carries one, and has the service
// continue the trace (https://www.w3.org/TR/trace-context/).
type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. The span ends with the header of the answer.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	remote := tracing.ContextOf(request.Context())
	if remote.Parent == "" {
		return t.next.RoundTrip(request)
	}
	ctx, span := tracing.Below(request.Context(), "httpclient").Start(request.Context(), request.Method, tracing.Client)
	defer span.End()
	if span.On() {
		span.Text("http.request.method", request.Method)
		span.Text("server.address", request.URL.Hostname())
		if number, err := strconv.ParseInt(port(request.URL), 10, 32); err == nil {
			span.Number("server.port", number)
		}
		remote = span.Context()
	}
	request = request.Clone(ctx)
	request.Header.Set(tracing.ParentField, remote.Parent)
	if remote.State != "" {
		request.Header.Set(tracing.StateField, remote.State)
	}
	answer, err := t.next.RoundTrip(request)
	switch {
	case err != nil:
		span.Fail(errors.New("no answer")) // the error may have the URL
	case span.On():
		span.Number("http.response.status_code", int64(answer.StatusCode))
		if answer.StatusCode >= 400 {
			span.Fail(errors.New(answer.Status))
		}
	}
	return answer, err
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (t transport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
