package sparql

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
)

// store sends the requests of both protocols.
type store struct {
	endpoint.Endpoint
	topic string
}

// update sends a SPARQL Update request (SPARQL 1.1 Protocol section 2.2.2).
func (s *store) update(ctx context.Context, request []byte, trace annotate.Trace) error {
	return s.send(ctx, http.MethodPost, s.Settings.URL, "application/sparql-update; charset=utf-8", request, trace)
}

// put replaces a graph by statements in N-Triples, which are Turtle too (Graph Store HTTP
// Protocol section 5.3).
func (s *store) put(ctx context.Context, graph string, statements []byte, trace annotate.Trace) error {
	return s.send(ctx, http.MethodPut, s.graph(graph), "text/turtle; charset=utf-8", statements, trace)
}

// remove removes a graph, which may be missing (section 5.4).
func (s *store) remove(ctx context.Context, graph string) error {
	err := s.send(ctx, http.MethodDelete, s.graph(graph), "", nil, annotate.Trace{})
	var answer *endpoint.AnswerError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// graph returns the address of a graph (section 4.2).
func (s *store) graph(name string) string {
	separator := "?"
	if strings.Contains(s.Settings.URL, "?") {
		separator = "&"
	}
	return s.Settings.URL + separator + "graph=" + url.QueryEscape(name)
}

func (s *store) send(ctx context.Context, method, at, mediaType string, body []byte, trace annotate.Trace) error {
	request := endpoint.Request{Method: method, URL: at, Body: body, Trace: trace}
	if mediaType != "" {
		request.Header = http.Header{"Content-Type": {mediaType}}
	}
	status, text, err := s.Send(ctx, request)
	if status == http.StatusMultiStatus && err == nil {
		return &endpoint.AnswerError{Status: status, Reason: s.Reason(text)}
	}
	return err
}
