package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/internal/option"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// The defaults of Options.
const (
	DefaultTimeout  = time.Minute
	DefaultTotal    = time.Hour
	DefaultMaxBytes = 4 << 30
)

// Options tunes a Client. The zero value is ready for use. Limits that are zero or negative mean
// their defaults.
type Options struct {
	// Origins are the origins that may be requested, such as https://example.org or
	// http://localhost:8080. Nil means all, of the local network too: a mapping from another
	// person then decides what this program requests.
	Origins []string
	// Credentials has a credential by origin: a token, an API key, or a user and a password
	// with a colon between them. The mapping says which it is. Where it does not, as for SPARQL
	// endpoints, a credential with a colon is sent as user and password (RFC 7617), another one as
	// bearer token (RFC 6750).
	Credentials map[string]string
	// Timeout bounds the time until an answer begins, and that between two parts of it.
	Timeout time.Duration
	// Total bounds the time of a whole answer, with that of its reader.
	Total time.Duration
	// MaxBytes bounds an answer, in bytes, unpacked if it was sent compressed.
	MaxBytes int64
	// HTTP sends the requests. Nil means a client of its own without proxies. Its timeout, if it has
	// one, holds beside those above.
	HTTP *http.Client
}

// Client requests sources. It is safe for concurrent use.
type Client struct {
	opts        Options
	origins     map[string]bool // nil: all
	credentials map[string]string
	http        *http.Client
}

// New returns a Client. It connects to nothing. opts may be nil. An error names the origin that is
// not one.
func New(opts *Options) (*Client, error) {
	c := &Client{credentials: make(map[string]string)}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.Timeout = option.Positive(c.opts.Timeout, DefaultTimeout)
	c.opts.Total = option.Positive(c.opts.Total, DefaultTotal)
	c.opts.MaxBytes = option.Positive(c.opts.MaxBytes, DefaultMaxBytes)
	if c.opts.Origins != nil {
		c.origins = make(map[string]bool)
	}
	for _, text := range c.opts.Origins {
		at, err := ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		c.origins[at] = true
	}
	for text, credential := range maps.All(c.opts.Credentials) {
		at, err := ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		if credential == "" || strings.ContainsFunc(credential, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("credential for %s: expected text without control characters", at)
		}
		c.credentials[at] = credential
	}
	client := c.opts.HTTP
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: c.opts.Timeout}).DialContext,
			TLSHandshakeTimeout: c.opts.Timeout, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}}
	}
	c.http = httpclient.New(client)
	return c, nil
}

// Close closes the connections that are idle.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// ParseOrigin returns an origin (RFC 6454) in its usual form: without a path, in lower case, and
// without the port that its scheme has anyway.
func ParseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("expected an origin, such as https://example.org or http://localhost:8080")
	}
	return writeOrigin(u), nil
}

func writeOrigin(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

// Fetch requests a source, for Files.Fetch. Reading the answer ends with an error when it is
// incomplete, too large or too slow, or when the context ends.
func (c *Client) Fetch(ctx context.Context, s rml.Source) (io.ReadCloser, error) {
	at, err := url.Parse(s.Name)
	if err != nil || at.Host == "" {
		return nil, errors.New("its address is not a URL")
	}
	origin := writeOrigin(at)
	if c.origins != nil && !c.origins[origin] {
		return nil, fmt.Errorf("%s is not among the origins that may be requested (rml map: -network)", origin)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &answer{cancel: cancel, ctx: ctx, left: c.opts.MaxBytes, limit: c.opts.MaxBytes, timeout: c.opts.Timeout}
	a.total = time.AfterFunc(c.opts.Total, func() { cancel(fmt.Errorf("the answer took more than %v", c.opts.Total)) })
	a.pause = time.AfterFunc(c.opts.Timeout, func() { cancel(fmt.Errorf("the server sent nothing for %v", c.opts.Timeout)) })
	if err := c.ask(ctx, at, origin, s, a); err != nil {
		a.end()
		return nil, err
	}
	a.pause.Stop()
	return a, nil
}

// ask sends the request and checks how the server answers.
func (c *Client) ask(ctx context.Context, at *url.URL, origin string, s rml.Source, a *answer) error {
	request, err := c.request(ctx, at, origin, s)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return a.explain(err)
	}
	a.body = response.Body
	if response.StatusCode != http.StatusOK {
		return c.refusal(response, origin, s)
	}
	return checkType(s, response.Header.Get("Content-Type"))
}
