package kong

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/retry"
)

// maxAnswer bounds the answers of the Admin API. A page of a thousand routes has
// about one megabyte.
const maxAnswer = 64 << 20

// maxPause bounds the time between two attempts.
const maxPause = 5 * time.Second

// client calls an Admin API.
type client struct {
	base     *url.URL
	header   http.Header
	http     *http.Client
	timeout  time.Duration
	attempts int
	backoff  time.Duration
}

// call is one call of the Admin API. Every one may be made again: what creates has
// an id, and says with resume how it is known to have happened.
type call struct {
	do           string // as in Error.Do
	method, path string
	body         any  // nil for none
	answer       any  // decoded into, nil for none
	secret       bool // the message of an answer is not shown
	// resume is asked, after an attempt of which the outcome is not known, what to make of
	// an answer that the entity is there already.
	resume func(ctx context.Context) error
}

// make sends a call, and again while it fails for reasons that may pass.
func (c *client) make(ctx context.Context, call call) error {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return fmt.Errorf("%s: %w", call.do, err)
		}
	}
	pause := retry.Backoff{Least: c.backoff, Most: maxPause}
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, call, body)
		var answer *Error
		refused := errors.As(err, &answer)
		switch {
		case err == nil:
			return nil
		case refused && answer.taken() && attempt > 1 && call.resume != nil:
			return call.resume(ctx)
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", call.do, context.Cause(ctx))
		case refused && httpclient.Refused(answer.Status), errors.Is(err, ErrAnswer), attempt >= c.attempts:
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return fmt.Errorf("%s: %w", call.do, err)
		}
	}
}

// once sends a call once.
func (c *client) once(ctx context.Context, call call, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	address, err := c.base.Parse(strings.TrimSuffix(c.base.EscapedPath(), "/") + call.path)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", call.do, ErrAnswer, err)
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address.String(), reader)
	if err != nil {
		return fmt.Errorf("%s: %w", call.do, err)
	}
	for name, values := range c.header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		var failure *url.Error // it repeats the address
		if errors.As(err, &failure) {
			err = failure.Err
		}
		return fmt.Errorf("%s: ask Kong at %s: %w", call.do, c.base.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: read Kong's answer: %w", call.do, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("%s: %w: it has more than %s bytes", call.do, ErrAnswer, strconv.Itoa(maxAnswer))
	case response.StatusCode < 200 || response.StatusCode > 299:
		return refusal(call, response.StatusCode, text)
	case call.answer == nil:
		return nil
	}
	if err := json.Unmarshal(text, call.answer); err != nil {
		return fmt.Errorf("%s: %w: %w", call.do, ErrAnswer, err)
	}
	return nil
}

// maxMessage bounds what is shown of a message that is not one of Kong's.
const maxMessage = 300

// refusal is the error of an answer.
func refusal(call call, status int, text []byte) *Error {
	e := &Error{Do: call.do, Status: status}
	var answer struct {
		Message any    `json:"message"`
		Name    string `json:"name"`
	}
	if json.Unmarshal(text, &answer) == nil {
		e.Violation = answer.Name
		if message, ok := answer.Message.(string); ok {
			e.Message = message
		}
	}
	if call.secret {
		e.Message = e.Violation
	}
	if len(e.Message) > 10*maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:10*maxMessage], "") + "…"
	}
	return e
}
