// Package telemetrytest has a receiver of OTLP for the tests of commands.
package telemetrytest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that was received.
type Span struct {
	// Service is the attribute service.name of the process.
	Service string
	// Name, Trace, ID and Parent are those of the span, the last three in hex.
	Name, Trace, ID, Parent string
	// Failed says that its status is an error.
	Failed bool
	// Attributes are those of the span, as texts; numbers are left out.
	Attributes map[string]string
	// Resource are the attributes of the process, as texts.
	Resource map[string]string
}

// Receiver is a receiver of OTLP over HTTP. Create one with [NewReceiver].
type Receiver struct {
	// URL is for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	mu      sync.Mutex
	changed chan struct{}
	spans   []Span
	headers []http.Header
	refuse  func(attempt int) int
}

// NewReceiver starts a receiver that lasts as long as the test.
func NewReceiver(t *testing.T) *Receiver {
	r := &Receiver{changed: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if status := r.receive(request); status != 0 {
			http.Error(w, "not now", status)
		}
	}))
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

// Refuse has the receiver answer with the status that f returns for an attempt, from 1 on; 0
// takes the spans.
func (r *Receiver) Refuse(f func(attempt int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = f
}

func (r *Receiver) receive(request *http.Request) int {
	if request.Method != http.MethodPost || request.URL.Path != "/v1/traces" ||
		request.Header.Get("Content-Type") != "application/x-protobuf" {
		return http.StatusNotFound
	}
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return http.StatusBadRequest
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return http.StatusBadRequest
	}
	var traces tracepb.TracesData
	if proto.Unmarshal(data, &traces) != nil {
		return http.StatusBadRequest
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, request.Header)
	close(r.changed)
	r.changed = make(chan struct{})
	if r.refuse != nil {
		if status := r.refuse(len(r.headers)); status != 0 {
			return status
		}
	}
	for _, process := range traces.ResourceSpans {
		about := map[string]string{}
		for _, a := range process.Resource.GetAttributes() {
			about[a.Key] = a.Value.GetStringValue()
		}
		for _, room := range process.ScopeSpans {
			for _, s := range room.Spans {
				one := Span{
					Service: about["service.name"], Name: s.Name, Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
					Parent: hex.EncodeToString(s.ParentSpanId), Failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
					Attributes: map[string]string{}, Resource: about,
				}
				for _, a := range s.Attributes {
					if text := a.Value.GetStringValue(); text != "" {
						one.Attributes[a.Key] = text
					}
				}
				r.spans = append(r.spans, one)
			}
		}
	}
	return 0
}

// Spans returns what has been received.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Headers returns the header of each request.
func (r *Receiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]http.Header(nil), r.headers...)
}

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 5 * time.Minute

// Await waits until a span of the name has been received.
func (r *Receiver) Await(t *testing.T, name string) Span {
	t.Helper()
	over := time.After(patience)
	for {
		r.mu.Lock()
		changed := r.changed
		for _, s := range r.spans {
			if s.Name == name {
				r.mu.Unlock()
				return s
			}
		}
		r.mu.Unlock()
		select {
		case <-changed:
		case <-over:
			require.Failf(t, "a span is missing", "%q; received: %v", name, r.Spans())
		}
	}
}

// Trace returns the spans of a trace by their names. The test fails where two have the same.
func (r *Receiver) Trace(t *testing.T, id string) map[string]Span {
	t.Helper()
	all := map[string]Span{}
	for _, s := range r.Spans() {
		if s.Trace == id {
			require.NotContains(t, all, s.Name)
			all[s.Name] = s
		}
	}
	return all
}
