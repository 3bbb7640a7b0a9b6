package oidctest

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Browser is a user at a browser: it keeps cookies, reads forms and follows
// redirects, though only within the identity provider. It belongs to one
// goroutine.
type Browser struct {
	tb     testing.TB
	issuer string
	client *http.Client
}

// NewBrowser returns a browser without cookies for an issuer.
func NewBrowser(tb testing.TB, issuer string) *Browser {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(tb, err)
	return &Browser{tb: tb, issuer: issuer, client: &http.Client{
		Timeout:       time.Minute,
		Jar:           trusting{jar},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// trusting is a jar that keeps secure cookies on the loopback interface, as
// browsers do.
type trusting struct{ http.CookieJar }

func (t trusting) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, cookie := range cookies {
		cookie.Secure = false
	}
	t.CookieJar.SetCookies(u, cookies)
}

// Page is the page that the browser shows.
type Page struct {
	// Status is the status of the answer.
	Status int
	// URL is where it came from, or, for a redirect away from the identity
	// provider, where that leads.
	URL *url.URL
	// Header and Body are the answer's.
	Header http.Header
	Body   string
}

// Open goes to an address.
func (b *Browser) Open(address string) Page {
	b.tb.Helper()
	request, err := http.NewRequestWithContext(b.tb.Context(), http.MethodGet, address, nil)
	require.NoError(b.tb, err)
	return b.do(request)
}

// do follows redirects until there is a page, or they lead away.
func (b *Browser) do(request *http.Request) Page {
	b.tb.Helper()
	home, err := url.Parse(b.issuer)
	require.NoError(b.tb, err)
	for range 10 {
		response, err := b.client.Do(request)
		require.NoError(b.tb, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(b.tb, err)
		require.NoError(b.tb, response.Body.Close())
		page := Page{Status: response.StatusCode, URL: request.URL, Header: response.Header, Body: string(body)}
		if response.Header.Get("Location") == "" {
			return page
		}
		page.URL, err = request.URL.Parse(response.Header.Get("Location"))
		require.NoError(b.tb, err)
		if page.URL.Host != home.Host {
			return page
		}
		request, err = http.NewRequestWithContext(b.tb.Context(), http.MethodGet, page.URL.String(), nil)
		require.NoError(b.tb, err)
	}
	b.tb.Fatal("too many redirects")
	return Page{}
}

// Submit sends the first form of a page, with the fields that it hides and those
// that the user fills in.
func (b *Browser) Submit(page Page, filled map[string]string) Page {
	b.tb.Helper()
	form := regexp.MustCompile(`(?s)<form[^>]*action="([^"]+)".*?</form>`).FindStringSubmatch(page.Body)
	require.NotNil(b.tb, form, "no form in %s", page.Body)
	action, err := page.URL.Parse(html.UnescapeString(form[1]))
	require.NoError(b.tb, err)
	fields := url.Values{}
	for _, input := range regexp.MustCompile(`<input[^>]*type="hidden"[^>]*>`).FindAllString(form[0], -1) {
		name := regexp.MustCompile(`name="([^"]*)"`).FindStringSubmatch(input)
		value := regexp.MustCompile(`value="([^"]*)"`).FindStringSubmatch(input)
		if name != nil && value != nil {
			fields.Set(html.UnescapeString(name[1]), html.UnescapeString(value[1]))
		}
	}
	for name, value := range filled {
		fields.Set(name, value)
	}
	response, err := b.client.PostForm(action.String(), fields)
	require.NoError(b.tb, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(b.tb, err)
	require.NoError(b.tb, response.Body.Close())
	answer := Page{Status: response.StatusCode, URL: action, Header: response.Header, Body: string(body)}
	location := response.Header.Get("Location")
	if location == "" {
		return answer
	}
	where, err := action.Parse(location)
	require.NoError(b.tb, err)
	home, err := url.Parse(b.issuer)
	require.NoError(b.tb, err)
	if where.Host == home.Host {
		return b.Open(where.String())
	}
	answer.URL = where
	return answer
}
