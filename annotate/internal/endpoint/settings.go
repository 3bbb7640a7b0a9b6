package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// Settings are an address and the credentials of it. Strings that are empty are not set.
type Settings struct {
	URL string
	// User and Password are sent by HTTP's Basic scheme, or Token as a bearer token.
	User, Password, Token string
}

// minSecret is the length from which on a value of a query is taken for confidential.
const minSecret = 4

// secrets returns what must not be in an error, the longest first: the credentials, as they are and
// as they are sent, and the values of the query.
func (s Settings) secrets() []string {
	secrets := []string{s.User, s.Password, s.Token}
	if s.User != "" {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(s.User+":"+s.Password)))
	}
	if at, err := url.Parse(s.URL); err == nil {
		secrets = append(secrets, at.RawQuery)
		for _, values := range at.Query() {
			secrets = append(secrets, slices.DeleteFunc(values, func(value string) bool { return len(value) < minSecret })...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// Check returns an *annotate.FieldError, of url, user or token, for settings that no store can
// have, and for a host that is not permitted.
func (s Settings) Check(hosts *annotate.BrokerHosts) error {
	at, err := httpclient.BaseURL(s.URL)
	switch {
	case err != nil:
		return &annotate.FieldError{Field: "url", Reason: err.Error()}
	case at.User != nil:
		return &annotate.FieldError{Field: "url", Reason: "has a user; set the members user and password instead"}
	case strings.Contains(s.URL, "#"):
		return &annotate.FieldError{Field: "url", Reason: "has a fragment, which no server receives; leave it out"}
	case s.Token != "" && (s.User != "" || s.Password != ""):
		return &annotate.FieldError{Field: "token", Reason: "user and password are set too; set one of the two"}
	case s.User == "" && s.Password != "":
		return &annotate.FieldError{Field: "user", Reason: "required with a password"}
	case strings.Contains(s.User, ":"):
		return &annotate.FieldError{Field: "user", Reason: "has a colon, which the Basic scheme cannot send"}
	}
	if err := httpclient.CheckToken(s.Token, at); err != nil {
		return &annotate.FieldError{Field: "token", Reason: err.Error()}
	}
	port, err := urlPort(at)
	if err != nil {
		return err
	}
	if err := hosts.Check(at.Hostname(), port); err != nil {
		return &annotate.FieldError{Field: "url", Reason: strings.TrimPrefix(err.Error(), "host: ")}
	}
	return nil
}

// urlPort returns the port of an address.
func urlPort(at *url.URL) (int, error) {
	switch {
	case at.Port() != "":
		port, err := strconv.Atoi(at.Port())
		if err != nil || port < 1 || port > 65535 {
			return 0, &annotate.FieldError{Field: "url", Reason: fmt.Sprintf("expected a port from 1 to 65535, got %s", at.Port())}
		}
		return port, nil
	case at.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// ClientConfig says how a client connects.
type ClientConfig struct {
	// TLS is used with https. Nil means the system's roots.
	TLS *tls.Config
	// Hosts are the hosts that may be connected to. Nil means all.
	Hosts *annotate.BrokerHosts
	// Dial opens the connections. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds the TLS handshake.
	Timeout time.Duration
	// Idle is the number of idle connections that are kept for each host.
	Idle int
}

// NewClient returns a client that refuses redirects to other hosts, uses no proxies of the
// environment, and keeps idle connections for a minute at most.
func NewClient(c ClientConfig) *http.Client {
	transport := &http.Transport{
		DialContext: c.Hosts.Over(c.Dial), IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: c.Idle,
		MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: c.Timeout, ForceAttemptHTTP2: true,
	}
	if c.TLS != nil {
		transport.TLSClientConfig = c.TLS.Clone()
	}
	return httpclient.New(&http.Client{Transport: transport})
}
