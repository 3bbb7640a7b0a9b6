package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxAnswer is how much of an answer a Client reads, in bytes.
const maxAnswer = 16 << 20

// call is one request and what its answer is read into.
type call struct {
	op, key     string
	method      string
	address     *url.URL
	contentType string
	body        io.Reader
	condition   apimgmt.Condition
	into        any
}

func (c *Client) do(ctx context.Context, a call) error {
	req, err := http.NewRequestWithContext(ctx, a.method, a.address.String(), a.body)
	if err != nil {
		return fmt.Errorf("%s %q: %w", a.op, a.key, err)
	}
	if a.contentType != "" {
		req.Header.Set("Content-Type", a.contentType)
	}
	req.Header.Set("Accept", "application/json")
	sendCondition(req, a.condition)
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return fmt.Errorf("%s %q: get a token: %w", a.op, a.key, err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &apimgmt.Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Cause: err,
			Text: "the publisher cannot be reached: " + err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return &apimgmt.Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Cause: err,
			Text: "the answer of the publisher breaks off: " + err.Error()}
	}
	if resp.StatusCode >= 300 {
		return a.refusal(resp.StatusCode, data)
	}
	if a.into == nil {
		return nil
	}
	if err := json.Unmarshal(data, a.into); err != nil {
		return fmt.Errorf("%s %q: read the answer of the publisher: %w", a.op, a.key, err)
	}
	return nil
}

// sendCondition adds the header fields of a condition.
func sendCondition(req *http.Request, c apimgmt.Condition) {
	switch {
	case len(c.Revisions) > 0:
		var tags []string
		for _, revision := range c.Revisions {
			tags = append(tags, httpapi.EntityTag{Value: revision}.String())
		}
		req.Header.Set("If-Match", strings.Join(tags, ", "))
	case c.Exists:
		req.Header.Set("If-Match", "*")
	}
	if c.Absent {
		req.Header.Set("If-None-Match", "*")
	}
}
