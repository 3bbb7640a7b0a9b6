package sparql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/tracing"
)

// maxAnswer bounds what is read of an answer, and maxReason what of it is in errors, in bytes.
const (
	maxAnswer = 64 << 10
	maxReason = 300
)

// endpoint makes the requests to one store.
type endpoint struct {
	client   *http.Client
	timeout  time.Duration
	topic    string
	settings Settings
}

// answerError is an answer of a store that is no success.
type answerError struct {
	status int
	reason string
}

// Error returns the status and the beginning of the answer.
func (e *answerError) Error() string {
	text := fmt.Sprintf("the store answered %d %s", e.status, http.StatusText(e.status))
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}

// refuses reports whether an error is about the statements of a request, which would fail
// again.
func refuses(err error) bool {
	var answer *answerError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// unavailable wraps an error of a store with annotate.ErrBrokerUnavailable and a hint.
func unavailable(err error) error {
	var answer *answerError
	hint := ""
	if errors.As(err, &answer) {
		switch answer.status {
		case http.StatusUnauthorized, http.StatusForbidden:
			hint = "the credentials are wrong or have no right to write: "
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			hint = "the url is no endpoint of the protocol: "
		case http.StatusAccepted:
			hint = "the store does not confirm what it writes: "
		}
	}
	return fmt.Errorf("%w: %s%w", annotate.ErrBrokerUnavailable, hint, err)
}

// update sends a SPARQL Update request (SPARQL 1.1 Protocol section 2.2.2).
func (e *endpoint) update(ctx context.Context, request []byte) error {
	return e.send(ctx, http.MethodPost, e.settings.URL, "application/sparql-update; charset=utf-8", request, annotate.Trace{})
}

// put replaces a graph by statements in N-Triples, which are Turtle too (Graph Store HTTP
// Protocol section 5.3).
func (e *endpoint) put(ctx context.Context, graph string, statements []byte, trace annotate.Trace) error {
	return e.send(ctx, http.MethodPut, e.graph(graph), "text/turtle; charset=utf-8", statements, trace)
}

// remove removes a graph, which may be missing (section 5.4).
func (e *endpoint) remove(ctx context.Context, graph string) error {
	err := e.send(ctx, http.MethodDelete, e.graph(graph), "", nil, annotate.Trace{})
	var answer *answerError
	if errors.As(err, &answer) && answer.status == http.StatusNotFound {
		return nil
	}
	return err
}

// graph returns the address of a graph (section 4.2).
func (e *endpoint) graph(name string) string {
	separator := "?"
	if strings.Contains(e.settings.URL, "?") {
		separator = "&"
	}
	return e.settings.URL + separator + "graph=" + url.QueryEscape(name)
}

func (e *endpoint) send(ctx context.Context, method, at, mediaType string, body []byte, trace annotate.Trace) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return errors.New("the url is invalid")
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	if trace.Parent != "" {
		request.Header.Set(tracing.ParentField, trace.Parent)
		if trace.State != "" {
			request.Header.Set(tracing.StateField, trace.State)
		}
	}
	if e.settings.User != "" {
		request.SetBasicAuth(e.settings.User, e.settings.Password)
	}
	httpclient.Authorize(request, e.settings.Token)
	answer, err := e.client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, whose query may be confidential
		}
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return err // an answer that is cut off is no confirmation
	}
	return &answerError{answer.StatusCode, e.reason(text)}
}

// reason returns the beginning of an answer as one line, without credentials.
func (e *endpoint) reason(text []byte) string {
	line := strings.ToValidUTF8(string(text), "")
	for _, secret := range e.settings.Secrets() {
		if secret.Value != "" {
			line = strings.ReplaceAll(line, secret.Value, annotate.Masked)
		}
	}
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "…"
	}
	return line
}
