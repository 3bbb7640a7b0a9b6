//go:build !no_otlp

package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/internal/retry"
	"github.com/iotenablers/enablers/internal/version"
)

const (
	// firstPause and longestPause bound the time between two attempts.
	firstPause   = time.Second
	longestPause = 10 * time.Second
	// mostAnswer is how much of an answer is read.
	mostAnswer = 64 << 10
)

// client sends spans by OTLP over HTTP
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
type client struct {
	settings *settings
	http     *http.Client
}

var _ otlptrace.Client = (*client)(nil)

func newClient(s *settings) *client {
	return &client{settings: s, http: httpclient.New(&http.Client{
		Timeout: s.timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: s.timeout, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: mostAnswer,
		},
	})}
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again, until the context ends, while the
// receiver is away or has too much to do.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as those of an ExportTraceServiceRequest, whose package links gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.settings.gzip {
		if body, err = compressed(body); err != nil {
			return err
		}
	}
	pause := retry.Backoff{Least: firstPause, Most: longestPause}
	for {
		wait, err := c.send(ctx, body)
		if err == nil || wait < 0 {
			return err
		}
		wait = max(wait, pause.Next())
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// send sends the spans once. After a failure it returns how long to wait at least before the
// next attempt, less than 0 if there is to be none.
func (c *client) send(ctx context.Context, body []byte) (wait time.Duration, _ error) {
	const final = -1
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return final, err
	}
	for name, value := range c.settings.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "enablers/"+version.String())
	if c.settings.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		var at *url.Error // with the address, which the log has
		if errors.As(err, &at) {
			err = at.Err
		}
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostAnswer)) // what is there of it, so that the connection is used again
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode <= 299:
		return 0, nil
	case answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusBadGateway ||
		answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // a date counts as nothing
		return time.Duration(max(0, min(seconds, 3600))) * time.Second, refused(answer, text)
	}
	return final, refused(answer, text)
}

// refused is the error of an answer.
func refused(answer *http.Response, text []byte) error {
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/") {
		return fmt.Errorf("the receiver answers %s: %.200q", answer.Status, strings.TrimSpace(string(text)))
	}
	return fmt.Errorf("the receiver answers %s", answer.Status)
}

func compressed(body []byte) ([]byte, error) {
	var to bytes.Buffer
	writer := gzip.NewWriter(&to)
	if _, err := writer.Write(body); err != nil {
		return nil, err
	}
	err := writer.Close()
	return to.Bytes(), err
}
