package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/internal/outbound"
	"github.com/iotenablers/enablers/internal/tracing"
)

// caller calls callbacks.
type caller struct {
	http   *http.Client
	tracer *tracing.Tracer
}

// newCaller returns a caller that uses no proxy, follows no redirect, and
// connects to public addresses only unless the configuration permits others.
func newCaller(config Config, tracer *tracing.Tracer) *caller {
	dialer := &net.Dialer{Timeout: config.Timeout}
	if !config.AllowPrivate {
		dialer.Control = outbound.Policy{}.Control
	}
	return &caller{tracer: tracer, http: &http.Client{
		Timeout:       config.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: config.Timeout,
			MaxIdleConns: maxDeliveries, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
	}}
}

func (c *caller) close() { c.http.CloseIdleConnections() }

// call sends an event to a callback. It succeeds with a status of 2xx only.
func (c *caller) call(ctx context.Context, hook Hook, e Event) (err error) {
	ctx, span := c.tracer.Continue(ctx, tracing.Context{Parent: e.TraceParent, State: e.TraceState}, http.MethodPost, tracing.Client)
	defer func() {
		span.Fail(err)
		span.End()
	}()
	body := e.Body
	if body == nil {
		body = struct{}{}
	}
	data, err := json.Marshal(map[string]any{
		"action": e.Action, "hookId": hook.ID, "timestamp": e.Time,
		"context": Context(e.At), "body": body,
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.Callback, bytes.NewReader(data))
	if err != nil {
		return errors.New("the callback is not a URL")
	}
	mac := hmac.New(sha256.New, []byte(hook.Secret))
	mac.Write(data)
	if span.On() {
		span.Text("http.request.method", http.MethodPost)
		span.Text("server.address", request.URL.Hostname())
		span.Text("modelrepo.action", e.Action)
		span.Text("modelrepo.webhook", hook.ID)
	}
	if at := span.Context(); at.Parent != "" {
		request.Header.Set(tracing.ParentField, at.Parent)
		if at.State != "" {
			request.Header.Set(tracing.StateField, at.State)
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "modelrepo")
	request.Header.Set("X-Modelrepo-Event", e.Action)
	request.Header.Set("X-Modelrepo-Delivery", e.ID)
	request.Header.Set("X-Modelrepo-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := c.http.Do(request)
	var failure *url.Error
	switch {
	case errors.As(err, &failure):
		return failure.Err // without the URL, which may hold a token
	case err != nil:
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	_ = answer.Body.Close()
	span.Number("http.response.status_code", int64(answer.StatusCode))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the callback answered with status %d", answer.StatusCode)
	}
	return nil
}
