package orchestrator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// Config configures a [Client].
type Config struct {
	// BaseURL is the address of the orchestrator, such as
	// "http://fl-orchestrator-app:5000". Required.
	BaseURL string
	// Token is sent with each request, as "Authorization: Bearer TOKEN", and to no
	// other server that a redirect names. Empty means none.
	Token string
	// HTTP makes the requests. Nil means a zero [http.Client].
	HTTP *http.Client
	// Timeout bounds a request with its answer. Zero means 30 seconds.
	Timeout time.Duration
}

// Client is the client of an orchestrator. It is safe for concurrent use. Make one with
// [NewClient].
type Client struct {
	base    *url.URL
	token   string
	http    *http.Client
	timeout time.Duration
}

var _ flcollect.Orchestrator = (*Client)(nil)

// NewClient returns a client. It makes no request.
func NewClient(config Config) (*Client, error) {
	base, err := httpclient.BaseURL(config.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("orchestrator: Config.BaseURL is %w", err)
	case config.Timeout < 0:
		return nil, fmt.Errorf("orchestrator: Config.Timeout is %v, and has to be positive", config.Timeout)
	}
	if err := httpclient.CheckToken(config.Token, base); err != nil {
		return nil, fmt.Errorf("orchestrator: Config.Token: %w", err)
	}
	return &Client{
		base: base, token: config.Token, http: httpclient.New(config.HTTP), timeout: cmp.Or(config.Timeout, 30*time.Second),
	}, nil
}

// RoundDone reports the end of a round: POST /FL_traininground.
func (c *Client) RoundDone(ctx context.Context, round report.RoundDone) error {
	return c.send(ctx, "FL_traininground", round)
}

// EarlyEnd reports that a target was surpassed: POST /FL_early_end.
func (c *Client) EarlyEnd(ctx context.Context, end report.EarlyEnd) error {
	return c.send(ctx, "FL_early_end", end)
}

// send posts a report. The error of an answer that will not change matches
// flcollect.ErrRefused; 401 and 403 change with another token.
func (c *Client) send(ctx context.Context, path string, report any) error {
	data, err := json.Marshal(report)
	if err != nil { // a number that JSON lacks
		return fmt.Errorf("tell orchestrator %q: %w: %w", path, flcollect.ErrRefused, err)
	}
	if err := c.post(ctx, path, data); err != nil {
		return fmt.Errorf("tell orchestrator %q: %w", path, err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, path string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	httpclient.Authorize(request, c.token)
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	const most = 4 << 10 // of an answer, which is read for its error and to reuse the connection
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		return nil // the rest of the answer does not matter
	case err != nil:
		text = []byte(err.Error())
	}
	err = fmt.Errorf("it answered %s: %q", answer.Status, text)
	if httpclient.Refused(answer.StatusCode) && !httpclient.Denied(answer.StatusCode) {
		return fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	return err
}
