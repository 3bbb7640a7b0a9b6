// Package endpoint sends the requests of drivers of stores: over HTTP, with credentials, to the
// hosts that are permitted, and with errors that have no secrets.
package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/tracing"
)

// maxAnswer bounds what is read of an answer, besides four times the request, whose parts an
// answer may name. maxReason bounds what of it is in errors. Both are in bytes.
const (
	maxAnswer = 1 << 20
	maxReason = 300
)

// Endpoint sends the requests to one store. It is safe for concurrent use.
type Endpoint struct {
	Client   *http.Client
	Timeout  time.Duration // of one request
	Settings Settings
	// Permit returns why nothing may be written at this moment. It is asked before each request;
	// nil permits it.
	Permit func() error
}

// Request is a request to a store.
type Request struct {
	Method, URL string
	// Header has what is sent besides the credentials and the trace. It may be nil.
	Header http.Header
	Body   []byte
	Trace  annotate.Trace
}

// AnswerError is an answer of a store that is not a success.
type AnswerError struct {
	Status int
	// Body is the beginning of the answer, and Reason its text without credentials.
	Body   []byte
	Reason string
}

// Error returns the status and the beginning of the answer.
func (e *AnswerError) Error() string {
	text := fmt.Sprintf("the store answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Refuses reports whether an error is about the statements of a request, which would fail
// again.
func Refuses(err error) bool {
	var answer *AnswerError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Unavailable wraps an error of a store with annotate.ErrBrokerUnavailable and a hint.
func Unavailable(err error) error {
	var answer *AnswerError
	hint := ""
	if errors.As(err, &answer) {
		switch answer.Status {
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

// Send sends a request. It returns the status and the beginning of the answer if the status is
// 200, 201, 204 or 207, and an [*AnswerError] for any other.
func (e *Endpoint) Send(ctx context.Context, r Request) (status int, answer []byte, err error) {
	if e.Permit != nil {
		if err := e.Permit(); err != nil {
			return 0, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return 0, nil, errors.New("the url is invalid")
	}
	maps.Copy(request.Header, r.Header)
	if r.Trace.Parent != "" {
		request.Header.Set(tracing.ParentField, r.Trace.Parent)
		if r.Trace.State != "" {
			request.Header.Set(tracing.StateField, r.Trace.State)
		}
	}
	if e.Settings.User != "" {
		request.SetBasicAuth(e.Settings.User, e.Settings.Password)
	}
	httpclient.Authorize(request, e.Settings.Token)
	response, err := e.Client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, whose query may be confidential
		}
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	limit := maxAnswer + 4*len(r.Body)
	text, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent, http.StatusMultiStatus:
		if len(text) > limit {
			err = fmt.Errorf("the answer has more than %d bytes", limit)
		}
		return response.StatusCode, text, err // an answer that is cut off is not a confirmation
	}
	return response.StatusCode, nil, &AnswerError{Status: response.StatusCode, Body: text, Reason: e.Reason(text)}
}

// Reason returns the beginning of an answer as one line, without credentials.
func (e *Endpoint) Reason(text []byte) string {
	line := strings.ToValidUTF8(string(text), "")
	for _, secret := range e.Settings.secrets() {
		if secret != "" {
			line = strings.ReplaceAll(line, secret, annotate.Masked)
		}
	}
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "…"
	}
	return line
}
