package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is the size up to which answers of an issuer are read. Keycloak's
// discovery document has 7 KiB, and a key with its certificate 3.
const maxAnswer = 256 << 10

// asker sends requests to the issuer, and only to addresses that are allowed.
type asker struct {
	client    *http.Client
	timeout   time.Duration
	hosts     []string
	allowHTTP bool
}

func newAsker(c Config) *asker {
	client := &http.Client{}
	if c.HTTPClient != nil {
		*client = *c.HTTPClient
	} else {
		client.Transport = &http.Transport{
			MaxIdleConns: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: c.Timeout,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &asker{client: client, timeout: c.Timeout, hosts: c.Hosts, allowHTTP: c.AllowHTTP}
}

// allowed checks an address before anything is sent there.
func (a *asker) allowed(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil: // it repeats the address
		return errors.New("not a URL")
	case address.Host == "" || address.User != nil || address.Fragment != "":
		return fmt.Errorf("%q: expected https://HOST/PATH", address.Redacted())
	case len(a.hosts) > 0 && !slices.Contains(a.hosts, address.Host) && !slices.Contains(a.hosts, address.Hostname()):
		return fmt.Errorf("%q: the host is not one of those that may be asked", address.Redacted())
	case address.Scheme == "https", address.Scheme == "http" && (a.allowHTTP || loopback(address.Hostname())):
		return nil
	}
	return fmt.Errorf("%q: expected https, since http is for the loopback interface only", address.Redacted())
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get fetches a document.
func (a *asker) get(ctx context.Context, address string) (answer, error) {
	got, err := a.ask(ctx, http.MethodGet, address, nil, nil)
	if err == nil && got.status != http.StatusOK {
		return got, fmt.Errorf("fetch %q: %w: status %d", address, ErrUnreachable, got.status)
	}
	return got, err
}

// ask sends one request. An error is ErrUnreachable, or the context's, and the
// status of the answer may be any. A form makes it a POST.
func (a *asker) ask(ctx context.Context, method, address string, form url.Values, change func(*http.Request)) (answer, error) {
	if err := a.allowed(address); err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	within, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(within, method, address, body)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	request.Header.Set("Accept", "application/json")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(request)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return answer{}, unreachable(ctx, address, err)
	}
	defer response.Body.Close()
	got := answer{status: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{}, unreachable(ctx, address, err)
	}
	if len(got.body) > maxAnswer {
		return answer{}, fmt.Errorf("fetch %q: %w: the answer is larger than %d bytes", address, ErrUnreachable, maxAnswer)
	}
	return got, nil
}

// unreachable distinguishes a caller that gave up from an issuer that does not answer.
func unreachable(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("fetch %q: %w", address, ctx.Err())
	}
	var where *url.Error // repeats method and address
	if errors.As(err, &where) {
		err = where.Err
	}
	return fmt.Errorf("fetch %q: %w: %w", address, ErrUnreachable, err)
}

// lifetime is the lifetime of an answer, as its header says (RFC 9111
// section 4.2.1), or 0 if it does not say or says not at all.
func (a answer) lifetime() time.Duration {
	age, _ := strconv.Atoi(a.header.Get("Age")) // 0 if none exists
	for directive := range strings.SplitSeq(strings.ToLower(a.header.Get("Cache-Control")), ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(directive), "="); name {
		case "no-cache", "no-store":
			return 0
		case "max-age":
			seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
			if err != nil {
				return 0
			}
			return max(0, time.Duration(seconds-int64(age))*time.Second)
		}
	}
	expires, err := http.ParseTime(a.header.Get("Expires"))
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, expires.Sub(sent))
}
