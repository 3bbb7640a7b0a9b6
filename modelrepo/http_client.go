package modelrepo

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
)

// ClientOptions changes a [Client]. The zero value is the default.
type ClientOptions struct {
	// HTTP makes the requests. Nil means a zero [http.Client]. Its Timeout
	// also cuts long uploads and downloads off; use contexts instead.
	HTTP *http.Client
}

// Client is a repository that is elsewhere: it has the methods of a [Store]
// over the REST interface. What the other side refuses is an [*Error] with the
// same sentinel. It is made with [NewClient] and is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// NewClient returns a client of the repository at a base URL, such as
// "http://127.0.0.1:8081". It makes no request. opts may be nil.
func NewClient(base string, opts *ClientOptions) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("modelrepo: base URL: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("modelrepo: base URL %q: expected http://HOST or https://HOST", parsed.Redacted())
	}
	c := &Client{base: parsed, http: &http.Client{}}
	if opts != nil && opts.HTTP != nil {
		c.http = opts.HTTP
	}
	return c, nil
}

// call is one request.
type call struct {
	op     string
	at     Path
	method string
	before string // of the path, before the place
	more   string // of the path, behind the place
	query  url.Values
	header http.Header
	body   io.Reader
}

// send makes a request and returns its answer if that is a success. The caller
// closes the body.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	target := c.base.JoinPath(k.before).JoinPath(segments(k.at)...)
	if k.more != "" {
		target = target.JoinPath(k.more)
	}
	target.RawQuery = k.query.Encode()
	request, err := http.NewRequestWithContext(ctx, k.method, target.String(), k.body)
	if err != nil {
		return nil, failed(k.op, k.at, err)
	}
	for name, values := range k.header {
		request.Header[name] = values
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, failed(k.op, k.at, err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, refusal(k, answer)
}

// check refuses a place whose URL would mean something else, in the way that a
// Store refuses it.
func (k call) check() error {
	dots := func(name string) bool { return name == "." || name == ".." }
	namespace := Path{Namespace: k.at.Namespace}
	switch {
	case k.at.depth() == 0 || namespace.valid(1) && !dots(k.at.Model) && !dots(k.at.Version):
		return nil
	case k.method == http.MethodPost:
		return refuse(k.op, k.at, ErrInvalid, "Invalid namespace, model name, or version.")
	}
	return notFound(k.op, k.at)
}

// segments are the parts of the path that are there, so escaped that each stays
// one.
func segments(at Path) []string {
	all := []string{url.PathEscape(at.Namespace), url.PathEscape(at.Model), url.PathEscape(at.Version)}
	return all[:at.depth()]
}

// refusal makes an error of an answer.
func refusal(k call, answer *http.Response) error {
	var body struct {
		Error string `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxBody)) // what there is of it
	if json.Unmarshal(data, &body) != nil || body.Error == "" {
		body.Error = answer.Status
	}
	code := answer.Header.Get(codeHeader)
	for _, v := range verdicts() {
		// A server without codes, or HEAD through a proxy, has the status.
		if v.code == code || code == "" && v.status == answer.StatusCode && v.status != http.StatusBadRequest {
			return &Error{Op: k.op, Path: k.at.String(), Text: body.Error, Err: v.kind}
		}
	}
	return fmt.Errorf("%s %q: the server answered %s: %s", k.op, k.at, answer.Status, body.Error)
}

// read makes a request and reads the JSON of its answer.
func (c *Client) read(ctx context.Context, k call, document any) error {
	answer, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(document); err != nil {
		return failed(k.op, k.at, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// write makes a request with a JSON body and reads the success that it answers.
func (c *Client) write(ctx context.Context, op string, at Path, method string, update any) (success, error) {
	k := call{op: op, at: at, method: method}
	if update != nil {
		data, err := json.Marshal(update)
		if err != nil {
			return success{}, failed(op, at, err)
		}
		k.body, k.header = bytes.NewReader(data), http.Header{"Content-Type": {"application/json"}}
	}
	var answer success
	err := c.read(ctx, k, &answer)
	return answer, err
}

func (l *Listing) query() url.Values {
	values := url.Values{}
	if l != nil {
		values.Set("page", strconv.Itoa(max(l.Page, 1)))
		if l.PageSize != 0 {
			values.Set("page_size", strconv.Itoa(l.PageSize))
		}
		if l.SortBy != "" {
			values.Set("sort_by", l.SortBy)
		}
		if l.Descending {
			values.Set("order", descending)
		}
		for _, f := range l.Filters {
			values.Add("f."+f.Field, f.Value)
		}
	}
	return values
}

// Namespaces is [Store.Namespaces].
func (c *Client) Namespaces(ctx context.Context, listing *Listing) (Set[Namespace], error) {
	var root rootInfo
	err := c.read(ctx, call{op: "list namespaces", method: http.MethodGet, query: listing.query()}, &root)
	return root.Namespaces, err
}

// CreateNamespace is [Store.CreateNamespace].
func (c *Client) CreateNamespace(ctx context.Context, name string) error {
	return c.CreateNamespaceWith(ctx, name, NamespaceUpdate{})
}

// CreateNamespaceWith is [Store.CreateNamespaceWith].
func (c *Client) CreateNamespaceWith(ctx context.Context, name string, with NamespaceUpdate) error {
	_, err := c.write(ctx, "create namespace", Path{Namespace: name}, http.MethodPost, with)
	return err
}

// UpdateNamespace is [Store.UpdateNamespace].
func (c *Client) UpdateNamespace(ctx context.Context, name string, to NamespaceUpdate) (changed bool, err error) {
	answer, err := c.write(ctx, "update namespace", Path{Namespace: name}, http.MethodPatch, to)
	return err == nil && strings.HasPrefix(answer.Message, "Updated "), err
}

// Namespace is [Store.Namespace].
func (c *Client) Namespace(ctx context.Context, name string, listing *Listing) (Namespace, error) {
	var namespace Namespace
	err := c.read(ctx, call{op: "get namespace", at: Path{Namespace: name}, method: http.MethodGet, query: listing.query()}, &namespace)
	return namespace, err
}

// DeleteNamespace is [Store.DeleteNamespace].
func (c *Client) DeleteNamespace(ctx context.Context, name string) error {
	_, err := c.write(ctx, "delete namespace", Path{Namespace: name}, http.MethodDelete, nil)
	return err
}

// CreateModel is [Store.CreateModel].
func (c *Client) CreateModel(ctx context.Context, at Path, with ModelUpdate) error {
	_, err := c.write(ctx, "create model", at, http.MethodPost, with)
	return err
}

// Model is [Store.Model].
func (c *Client) Model(ctx context.Context, at Path, listing *Listing) (Model, error) {
	var model Model
	err := c.read(ctx, call{op: "get model", at: at, method: http.MethodGet, query: listing.query()}, &model)
	return model, err
}

// UpdateModel is [Store.UpdateModel].
func (c *Client) UpdateModel(ctx context.Context, at Path, to ModelUpdate) (changed bool, err error) {
	answer, err := c.write(ctx, "update model", at, http.MethodPatch, to)
	return err == nil && strings.HasPrefix(answer.Message, "Updated "), err
}

// DeleteModel is [Store.DeleteModel].
func (c *Client) DeleteModel(ctx context.Context, at Path) error {
	_, err := c.write(ctx, "delete model", at, http.MethodDelete, nil)
	return err
}

// CreateVersion is [Store.CreateVersion].
func (c *Client) CreateVersion(ctx context.Context, at Path, with VersionUpdate) error {
	_, err := c.write(ctx, "create model version", at, http.MethodPost, with)
	return err
}

// Version is [Store.Version].
func (c *Client) Version(ctx context.Context, at Path) (Version, error) {
	var version Version
	err := c.read(ctx, call{op: "get model version", at: at, method: http.MethodGet}, &version)
	return version, err
}

// UpdateVersion is [Store.UpdateVersion].
func (c *Client) UpdateVersion(ctx context.Context, at Path, to VersionUpdate) (changed bool, err error) {
	answer, err := c.write(ctx, "update model version", at, http.MethodPatch, to)
	return err == nil && strings.HasPrefix(answer.Message, "Updated "), err
}

// DeleteVersion is [Store.DeleteVersion].
func (c *Client) DeleteVersion(ctx context.Context, at Path) error {
	_, err := c.write(ctx, "delete model version", at, http.MethodDelete, nil)
	return err
}

// DeleteImmutable is [Store.DeleteImmutable].
func (c *Client) DeleteImmutable(ctx context.Context, at Path) error {
	var answer success
	return c.read(ctx, call{op: "delete model version", at: at, method: http.MethodDelete, query: url.Values{"force": {"1"}}}, &answer)
}

// DeleteContent is [Store.DeleteContent].
func (c *Client) DeleteContent(ctx context.Context, at Path, format string, condition Condition) error {
	answer, err := c.send(ctx, call{
		op: "delete content", at: at, method: http.MethodDelete, more: "content",
		query: url.Values{"format": {format}}, header: condition.header(),
	})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// header is the condition as fields of a request.
func (c Condition) header() http.Header {
	header := http.Header{}
	for name, tags := range map[string][]string{"If-Match": c.Match, "If-None-Match": c.NoneMatch} {
		for _, tag := range tags {
			if tag != "*" {
				tag = quoted(tag)
			}
			header.Add(name, tag)
		}
	}
	return header
}

// errSeek is returned for a position before the beginning.
var errSeek = errors.New("seek before the beginning")
