package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// Options changes a [Client]. The zero value is the default.
type Options struct {
	// Token returns an access token; it is called for every request. Nil sends none.
	Token func(ctx context.Context) (string, error)
	// HTTP sends the requests. Nil means one of its own without a time limit;
	// the contexts of calls are the limit.
	HTTP *http.Client
}

// Client publishes at a publisher elsewhere: for enablers that publish their own
// API when they start. It is created with [New] and is safe for concurrent use.
// Its errors are those of an [apimgmt.Publisher], and [ErrAccess] and [ErrUnavailable].
type Client struct {
	base  *url.URL
	token func(ctx context.Context) (string, error)
	http  *http.Client
}

// New returns a client of the publisher at an address, http or https. opts may
// be nil. It sends no request.
func New(address string, opts *Options) (*Client, error) {
	base, err := httpclient.BaseURL(address)
	if err != nil {
		return nil, fmt.Errorf("apimgmt: address of the publisher: %w", err)
	}
	if opts == nil {
		opts = &Options{}
	}
	return &Client{base: base.JoinPath(wire.Library), token: opts.Token, http: httpclient.New(opts.HTTP)}, nil
}

// Publish is [apimgmt.Publisher.Publish]. The publisher takes the user from the token, so By
// is not sent; a condition cannot have both Exists and Absent.
func (c *Client) Publish(ctx context.Context, u apimgmt.Upload) (apimgmt.Record, error) {
	const op = "publish"
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
	part, err := form.CreateFormFile(wire.FileField, "openapi")
	if err == nil {
		_, err = part.Write(u.Definition)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return apimgmt.Record{}, fmt.Errorf("%s %q: %w", op, u.Enabler, err)
	}
	method, address := http.MethodPost, c.base.JoinPath("/")
	if u.KeepDescription {
		// Only PUT leaves a description as it is, and only where there is one.
		method, address = http.MethodPut, c.base.JoinPath(url.PathEscape(u.Enabler))
		query.Del("enabler")
	}
	address.RawQuery = query.Encode()
	var published apimgmt.Record
	err = c.do(ctx, call{
		op: op, key: u.Enabler, method: method, address: address,
		contentType: form.FormDataContentType(), body: &body, condition: u.Condition, into: &published,
	})
	return published, err
}

// Get is [apimgmt.Publisher.Get].
func (c *Client) Get(ctx context.Context, enabler string) (apimgmt.Record, error) {
	var record apimgmt.Record
	err := c.do(ctx, call{
		op: "read", key: enabler, method: http.MethodGet, address: c.base.JoinPath(url.PathEscape(enabler)), into: &record,
	})
	return record, err
}

// SetState is [apimgmt.Publisher.SetState].
func (c *Client) SetState(ctx context.Context, enabler, version string, t apimgmt.Transition) (apimgmt.Record, error) {
	fields := map[string]any{"state": t.State}
	if !t.Sunset.IsZero() {
		fields["sunset"] = t.Sunset
	}
	if t.Link != "" {
		fields["link"] = t.Link
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return apimgmt.Record{}, err
	}
	var record apimgmt.Record
	err = c.do(ctx, call{
		op: "set the state of", key: enabler, method: http.MethodPatch,
		address:     c.base.JoinPath(url.PathEscape(enabler), "versions", url.PathEscape(version)),
		contentType: "application/json", body: bytes.NewReader(data), condition: t.Condition, into: &record,
	})
	return record, err
}

// Delete is [apimgmt.Publisher.Delete].
func (c *Client) Delete(ctx context.Context, enabler string, condition apimgmt.Condition) error {
	return c.do(ctx, call{
		op: "delete", key: enabler, method: http.MethodDelete, address: c.base.JoinPath(url.PathEscape(enabler)), condition: condition,
	})
}
