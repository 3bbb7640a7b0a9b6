// Package httpclient is what the clients of other services' REST interfaces
// share: how an address is read, how a token is sent, which redirects are followed, and
// which answers are final.
package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// BaseURL reads the address of a service, http or https. The error is the end of
// a sentence, and shows no password.
func BaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil: // it repeats the URL
		return nil, errors.New("not a URL")
	case (base.Scheme != "http" && base.Scheme != "https") || base.Host == "":
		return nil, fmt.Errorf("%q: expected http://HOST or https://HOST", base.Redacted())
	}
	return base, nil
}

// CheckToken returns what is wrong with a token for a service at a base URL. It does not
// repeat the token. An empty one is not a token.
func CheckToken(token string, base *url.URL) error {
	switch {
	case token == "":
		return nil
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errors.New("expected printable ASCII characters without spaces")
	case base.User != nil:
		return errors.New("the base URL has a user already; give one of the two")
	}
	return nil
}

// Authorize adds a token to a request (RFC 6750 section 2.1), unless it is empty.
func Authorize(request *http.Request, token string) {
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
}

// New returns a client that is as another one, nil for a zero [http.Client], but
// follows no redirect to another origin, which gets neither the body nor the
// credentials of a request, and none that would turn a POST into a GET: its success would be
// none. The first is an error, with the second the answer is the redirect. Requests whose
// context carries a span have one of their own below it, and its place in the header.
func New(like *http.Client) *http.Client {
	client := &http.Client{}
	if like != nil {
		*client = *like
	}
	below := client.Transport
	if below == nil {
		below = http.DefaultTransport
	}
	client.Transport = transport{below}
	next := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case !sameOrigin(req.URL, via[0].URL):
			return fmt.Errorf("redirected to another server, %s://%s, which is not followed; if it is the right one, use its address",
				req.URL.Scheme, req.URL.Host)
		case req.Method != via[0].Method:
			return http.ErrUseLastResponse
		case next != nil:
			return next(req, via)
		case len(via) >= 10:
			return errors.New("too many redirects")
		}
		return nil
	}
	return client
}

// sameOrigin compares origins (RFC 6454 section 5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(at *url.URL) string {
	switch {
	case at.Port() != "":
		return at.Port()
	case at.Scheme == "https":
		return "443"
	}
	return "80"
}

// Denied reports whether the service asks for other credentials. An operator can mend that,
// so what a request carries is not lost for good.
func Denied(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// Refused reports whether a request with an answer of that status is not worth
// another try.
func Refused(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}
