package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// call is one request.
type call struct {
	method string
	path   []string // names, not escaped
	query  url.Values
	// body writes the body of so many bytes; nil is none. It may be called
	// several times, for redirects and lost connections.
	body        func(io.Writer) error
	contentType string
	length      int64
}

// errSilent is the error of a request without a byte for too long.
var errSilent = errors.New("the repository is silent")

// send sends a request and returns its answer, which the caller closes.
func (c *Client) send(ctx context.Context, k call) (*reply, error) {
	for _, name := range k.path {
		if !sendable(name) {
			return nil, fmt.Errorf("%w: a path cannot hold %s", flcollect.ErrRefused, unsendable(name))
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(c.config.Timeout, func() { cancel(errSilent) })
	exchange := &exchange{timeout: c.config.Timeout, silence: silence, cancel: func() { silence.Stop(); cancel(nil) }}
	response, err := c.do(ctx, k, exchange)
	if err != nil {
		if context.Cause(ctx) == errSilent {
			err = fmt.Errorf("%w: %w", errSilent, err)
		}
		exchange.end()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return &reply{Response: response, exchange: exchange, ctx: ctx}, nil
}

// sendable reports whether a path can carry a name.
func sendable(name string) bool { return name != "" && name != slash && len(name) <= MaxName }

// unsendable says what is wrong with a name, which may be long.
func unsendable(name string) string {
	if name == slash {
		return "the name /"
	}
	return fmt.Sprintf("a name of %d bytes", len(name))
}

func (c *Client) do(ctx context.Context, k call, exchange *exchange) (*http.Response, error) {
	target := c.base.JoinPath(segments(k.path)...)
	query := target.Query()
	for name, values := range k.query {
		query[name] = values
	}
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, k.method, target.String(), nil)
	if err != nil {
		return nil, err
	}
	if k.body != nil {
		request.Header.Set("Content-Type", k.contentType)
		request.ContentLength = k.length
		request.Body = exchange.render(k.body)
		request.GetBody = func() (io.ReadCloser, error) { return exchange.render(k.body), nil }
	}
	httpclient.Authorize(request, c.config.Token)
	return c.http.Do(request)
}

// segments are names so escaped that each stays one segment of a path.
func segments(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = url.PathEscape(name)
		if name == "." || name == ".." {
			all[i] = strings.ReplaceAll(name, ".", "%2E")
		}
	}
	return all
}

// exchange is a request and its answer under way.
type exchange struct {
	timeout time.Duration
	silence *time.Timer
	cancel  func()

	mu     sync.Mutex
	bodies []*renderedBody
	ended  bool
}

// render returns a body that is written while it is read.
func (e *exchange) render(write func(io.Writer) error) io.ReadCloser {
	reader, writer := io.Pipe()
	b := &renderedBody{PipeReader: reader, exchange: e, done: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended { // too late for the transport
		close(b.done)
		_ = reader.Close()
		return b
	}
	e.bodies = append(e.bodies, b)
	go func() {
		defer close(b.done)
		writer.CloseWithError(write(writer))
	}()
	return b
}

// moved says that a byte moved.
func (e *exchange) moved() { e.silence.Reset(e.timeout) }

// end ends the exchange. When it returns no goroutine writes a body any more.
func (e *exchange) end() {
	e.cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for _, b := range e.bodies {
		_ = b.Close()
		<-b.done
	}
}

// renderedBody is the body of a request that is written while it is read.
type renderedBody struct {
	*io.PipeReader
	exchange *exchange
	done     chan struct{}
}

// Read implements io.Reader.
func (b *renderedBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	b.exchange.moved()
	return n, err
}

// reply is the answer to a request.
type reply struct {
	*http.Response
	exchange *exchange
	ctx      context.Context
}

// Read reads the body.
func (r *reply) Read(p []byte) (int, error) {
	n, err := r.Body.Read(p)
	switch {
	case err == nil:
		r.exchange.moved()
	case err != io.EOF && context.Cause(r.ctx) == errSilent:
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return n, err
}

// close ends the exchange. What little is left of the body is read, so that the
// connection can be used again.
func (r *reply) close() {
	_, _ = io.CopyN(io.Discard, r, 64<<10) // only for the connection
	_ = r.Body.Close()
	r.exchange.end()
}

// Close implements io.Closer.
func (r *reply) Close() error {
	r.close()
	return nil
}

// deniedError is the error of a request without the right token. It matches
// flcollect.ErrRefused: a training does not begin without its model.
type deniedError struct{ answer string }

// Error implements error.
func (e *deniedError) Error() string { return flcollect.ErrRefused.Error() + ": " + e.answer }

// Unwrap returns flcollect.ErrRefused.
func (*deniedError) Unwrap() error { return flcollect.ErrRefused }

// failure is the error of an answer that is no success.
func (r *reply) failure() error {
	data, _ := io.ReadAll(io.LimitReader(r, 4<<10)) // what there is of it
	var body struct {
		Detail any `json:"detail"`
	}
	text := string(data)
	if json.Unmarshal(data, &body) == nil && body.Detail != nil {
		text = fmt.Sprint(body.Detail)
	}
	err := fmt.Errorf("the repository answered %s: %q", r.Status, text)
	switch {
	case httpclient.Denied(r.StatusCode):
		return &deniedError{err.Error()}
	case httpclient.Refused(r.StatusCode):
		return fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
