package client

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/iotenablers/enablers/internal/httpclient"
)

// Options changes a [Client]. The zero value is the default.
type Options struct {
	// Token is sent with each request, as "Authorization: Bearer TOKEN", and to no
	// other server that a redirect names. Empty means none.
	Token string
	// HTTP sends the requests. Nil means a zero [http.Client]. Its Timeout also
	// ends long uploads and downloads; use contexts instead.
	HTTP *http.Client
}

// Client is a repository that another process serves. What the server refuses is a
// [*modelrepo.Error] with the same sentinel. It is created with [New] and is safe for
// concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	// sendsResult is set once the server has sent a Result field.
	sendsResult atomic.Bool
}

// New returns a client of the repository at a base URL, such as
// "http://127.0.0.1:8081". It sends no request. opts may be nil.
func New(base string, opts *Options) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("modelrepo: base URL: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("modelrepo: base URL %q: expected http://HOST or https://HOST", parsed.Redacted())
	}
	if opts == nil {
		opts = &Options{}
	}
	if err := httpclient.CheckToken(opts.Token, parsed); err != nil {
		return nil, fmt.Errorf("modelrepo: Options.Token: %w", err)
	}
	return &Client{base: parsed, token: opts.Token, http: httpclient.New(opts.HTTP)}, nil
}
