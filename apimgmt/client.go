package apimgmt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// ErrAccess means that the publisher does not accept the token of a [Client], or that
// its role is not enough.
var ErrAccess = errors.New("apimgmt: access refused")

// ErrUnavailable means that a publisher could not be reached, or could not answer; the
// call can be made again.
var ErrUnavailable = errors.New("apimgmt: publisher cannot be reached")

// maxAnswer is how much of an answer a Client reads, in bytes.
const maxAnswer = 16 << 20

// ClientOptions changes a [Client]. The zero value is the default.
type ClientOptions struct {
	// Token returns an access token; it is called for every request. Nil sends none.
	Token func(ctx context.Context) (string, error)
	// HTTPClient makes the requests. Nil means one of its own without a time limit;
	// the contexts of calls are the limit.
	HTTPClient *http.Client
}

// Client publishes at a publisher elsewhere: for enablers that publish their own
// API when they start. It is made with [NewClient] and is safe for concurrent use.
// Its errors are those of a [Publisher], and ErrAccess and ErrUnavailable.
type Client struct {
	base  *url.URL
	token func(ctx context.Context) (string, error)
	http  *http.Client
}

// NewClient returns a client of the publisher at an address, http or https. opts may
// be nil. It makes no request.
func NewClient(address string, opts *ClientOptions) (*Client, error) {
	base, err := httpclient.BaseURL(address)
	if err != nil {
		return nil, fmt.Errorf("apimgmt: address of the publisher: %w", err)
	}
	if opts == nil {
		opts = &ClientOptions{}
	}
	return &Client{base: base.JoinPath(library), token: opts.Token, http: httpclient.New(opts.HTTPClient)}, nil
}

// Publish is [Publisher.Publish]. The publisher takes the user from the token, so By is not
// sent; a condition cannot have both Exists and Absent.
func (c *Client) Publish(ctx context.Context, u Upload) (Record, error) {
	query := url.Values{"enabler": {u.Enabler}}
	if !u.KeepDescription || u.Description != "" {
		query.Set("description", u.Description)
	}
	if u.State != "" {
		query.Set("state", string(u.State))
	}
	if u.Server != "" {
		query.Set("server", u.Server)
	}
	if u.Path != "" {
		query.Set("path", u.Path)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(fileField, "openapi")
	if err == nil {
		_, err = part.Write(u.Definition)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
	}
	method, address := http.MethodPost, c.base.JoinPath("/")
	if u.KeepDescription {
		// Only PUT leaves a description as it is, and only where there is one.
		method, address = http.MethodPut, c.base.JoinPath(url.PathEscape(u.Enabler))
		query.Del("enabler")
	}
	address.RawQuery = query.Encode()
	var published Record
	err = c.do(ctx, call{
		op: opPublish, key: u.Enabler, method: method, address: address,
		contentType: form.FormDataContentType(), body: &body, condition: u.Condition, into: &published,
	})
	return published, err
}

// Get is [Publisher.Get].
func (c *Client) Get(ctx context.Context, enabler string) (Record, error) {
	var record Record
	err := c.do(ctx, call{
		op: "read", key: enabler, method: http.MethodGet, address: c.base.JoinPath(url.PathEscape(enabler)), into: &record,
	})
	return record, err
}

// SetState is [Publisher.SetState].
func (c *Client) SetState(ctx context.Context, enabler, version string, t Transition) (Record, error) {
	fields := map[string]any{"state": t.State}
	if !t.Sunset.IsZero() {
		fields["sunset"] = t.Sunset
	}
	if t.Link != "" {
		fields["link"] = t.Link
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return Record{}, err
	}
	var record Record
	err = c.do(ctx, call{
		op: "set the state of", key: enabler, method: http.MethodPatch,
		address:     c.base.JoinPath(url.PathEscape(enabler), "versions", url.PathEscape(version)),
		contentType: "application/json", body: bytes.NewReader(data), condition: t.Condition, into: &record,
	})
	return record, err
}

// Delete is [Publisher.Delete].
func (c *Client) Delete(ctx context.Context, enabler string, condition Condition) error {
	return c.do(ctx, call{
		op: "delete", key: enabler, method: http.MethodDelete, address: c.base.JoinPath(url.PathEscape(enabler)), condition: condition,
	})
}

// call is one request and what its answer is read into.
type call struct {
	op, key     string
	method      string
	address     *url.URL
	contentType string
	body        io.Reader
	condition   Condition
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
	a.condition.send(req)
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return fmt.Errorf("%s %q: get a token: %w", a.op, a.key, err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Text: "the publisher cannot be reached: " + err.Error(), Cause: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return &Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Text: "the answer of the publisher breaks off: " + err.Error(), Cause: err}
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

// send adds the header fields of a condition.
func (c Condition) send(req *http.Request) {
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

// refusal is the error that an answer stands for.
func (a call) refusal(status int, body []byte) error {
	refusal := &Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Text: fmt.Sprintf("the publisher answers with status %d", status)}
	for kind, statuses := range map[error][]int{
		ErrInvalid: {400, 415, 422}, ErrAccess: {401, 403}, ErrNotFound: {404}, ErrConflict: {409},
		ErrPrecondition: {412}, ErrTooLarge: {413}, ErrGateway: {502},
	} {
		if slices.Contains(statuses, status) {
			refusal.Kind = kind
		}
	}
	var problem struct {
		Detail    json.RawMessage `json:"detail"`
		Conflicts []Conflict      `json:"conflicts"`
	}
	if json.Unmarshal(body, &problem) != nil {
		return refusal
	}
	refusal.Conflicts = problem.Conflicts
	if refusal.Kind == ErrConflict && len(refusal.Conflicts) == 0 {
		refusal.Kind = ErrState
	}
	var text string
	var list faults
	switch {
	case json.Unmarshal(problem.Detail, &text) == nil:
		refusal.Text = strings.TrimPrefix(text, fmt.Sprintf("%s %q: ", a.op, a.key))
	case json.Unmarshal(problem.Detail, &list) == nil:
		refusal.Text = list.Error()
	}
	return refusal
}
