// Package httpclient is what the clients of other services' REST interfaces
// share: how an address is read, which redirects are followed, and which answers
// are final.
package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// BaseURL reads the address of a service, http or https. The error is the end of
// a sentence, and shows no password.
func BaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil: // it repeats the URL
		return nil, errors.New("not a URL")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("%q: expected http://HOST or https://HOST", base.Redacted())
	}
	return base, nil
}

// New returns a client that is as another one, nil for a zero [http.Client], but
// follows no redirect that would make a GET of a POST: its success would be none.
// The answer is then the redirect.
func New(like *http.Client) *http.Client {
	client := &http.Client{}
	if like != nil {
		*client = *like
	}
	next := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
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

// Refused reports whether a request with an answer of that status is not worth
// another try.
func Refused(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}
