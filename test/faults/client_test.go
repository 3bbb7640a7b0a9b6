//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"sync"
	"time"
)

// errNot is a write that was not acknowledged: the server is away, or said that it cannot.
var errNot = errors.New("not acknowledged")

// errAbsent is a read of what is not there.
var errAbsent = errors.New("absent")

// errHung is a request without any answer.
var errHung = errors.New("the server accepted a request and did not answer")

// patience is how long an answer may take.
const patience = 30 * time.Second

// client sends requests to one listener.
type client struct {
	url  string
	http *http.Client
	sign func(r *http.Request) error // adds what authenticates; may be nil
}

func newClient(port int) *client {
	return &client{url: fmt.Sprintf("http://127.0.0.1:%d", port), http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 8},
		Timeout:   patience,
	}}
}

// tokens has the token for each folder, which outlasts the process that gave it.
var tokens sync.Map

// signing returns a client that adds a bearer token to requests, which get returns. It asks
// for another one when the server refuses it.
func (c *client) signing(data string, get func() (string, error)) *client {
	var mu sync.Mutex
	signed := *c
	signed.sign = func(r *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		token, known := tokens.Load(data)
		if !known || r.Response != nil {
			var err error
			if token, err = get(); err != nil {
				return err
			}
			tokens.Store(data, token)
		}
		r.Header.Set("Authorization", "Bearer "+token.(string))
		return nil
	}
	return &signed
}

// send sends a request and returns status and body. An error means that there was no answer, or
// not all of it.
func (c *client) send(method, path, contentType string, body []byte) (int, []byte, error) {
	status, answer, err := c.sendOnce(method, path, contentType, body, nil)
	if err == nil && status == http.StatusUnauthorized && c.sign != nil {
		return c.sendOnce(method, path, contentType, body, new(http.Response))
	}
	return status, answer, err
}

func (c *client) sendOnce(method, path, contentType string, body []byte, refused *http.Response) (int, []byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.sign != nil {
		request.Response = refused
		if err := c.sign(request); err != nil {
			return 0, nil, err
		}
		request.Response = nil
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, nil, hung(err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, data, hung(err)
}

func hung(err error) error {
	if late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && late.Timeout() {
		return fmt.Errorf("%w: %w", errHung, err)
	}
	return err
}

// write sends a change, and returns nil if it was acknowledged with a status below 300 or one
// of the others. Without an answer, or with one that says that the server cannot, the error is
// errNot. Any other answer is a defect.
func (c *client) write(method, path, contentType string, body []byte, others ...int) error {
	status, answer, err := c.send(method, path, contentType, body)
	switch {
	case errors.Is(err, errHung):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errNot, err)
	case status < 300:
		return nil
	case status >= 500, status == http.StatusUnauthorized: // the clock may have been set after the token was given
		return fmt.Errorf("%w: %s %s: %d %.500s", errNot, method, path, status, answer)
	}
	for _, other := range others {
		if status == other {
			return nil
		}
	}
	return fmt.Errorf("%s %s: unexpected status %d: %.1000s", method, path, status, answer)
}

func (c *client) writeJSON(method, path, body string, others ...int) error {
	return c.write(method, path, "application/json", []byte(body), others...)
}

// writeFile sends a form with one file.
func (c *client) writeFile(method, path, field string, content []byte, others ...int) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile(field, "file.json")
	if err != nil {
		return err
	}
	_, _ = part.Write(content) // to memory
	_ = w.Close()
	return c.write(method, path, w.FormDataContentType(), form.Bytes(), others...)
}

// read returns what is at a path.
func (c *client) read(path string) ([]byte, error) {
	status, answer, err := c.send(http.MethodGet, path, "", nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("GET %s: %w", path, err)
	case status == http.StatusNotFound:
		return nil, fmt.Errorf("GET %s: %w", path, errAbsent)
	case status != http.StatusOK:
		return nil, fmt.Errorf("GET %s: %d %.500s", path, status, answer)
	}
	return answer, nil
}

// holds returns an error unless there is a text with all of the parts at the path.
func (c *client) holds(path string, parts ...string) error {
	text, err := c.read(path)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if !bytes.Contains(text, []byte(part)) {
			return fmt.Errorf("GET %s: has no %s: %.1000s", path, part, text)
		}
	}
	return nil
}
