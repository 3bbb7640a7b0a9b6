package access_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// provider is an issuer that knows Ada, who is an operator.
type provider struct {
	away      atomic.Bool
	refuses   atomic.Bool // whether the issuer refuses this server as its client
	gone      atomic.Bool // whether the session at the issuer is over
	lifetime  time.Duration
	other     atomic.Bool // whether tokens are those of another person
	refreshed atomic.Int32
	// refreshing is called while a grant is refreshed; nil calls nothing.
	refreshing func()
}

func (p *provider) Begin(context.Context) (string, []byte, error) {
	if p.away.Load() {
		return "", nil, fmt.Errorf("%w: dial", access.ErrUnavailable)
	}
	return "http://issuer.example/login", []byte("state-of-ada"), nil
}

func (p *provider) Finish(_ context.Context, state []byte, answer url.Values) (access.Grant, error) {
	if string(state) != "state-of-ada" || answer.Get("code") != "good" {
		return access.Grant{}, errors.New("refused")
	}
	if p.refuses.Load() {
		return access.Grant{}, refusedClient()
	}
	return access.Grant{Access: "ada-0", Refresh: "again", ID: "id", Expires: time.Now().Add(p.lifetime)}, nil
}

func (p *provider) Refresh(ctx context.Context, g access.Grant) (access.Grant, error) {
	if p.refreshing != nil {
		p.refreshing()
	}
	switch {
	case ctx.Err() != nil:
		return access.Grant{}, ctx.Err()
	case p.away.Load():
		return access.Grant{}, fmt.Errorf("%w: dial", access.ErrUnavailable)
	case p.refuses.Load():
		return access.Grant{}, refusedClient()
	case p.gone.Load() || g.Refresh != "again":
		return access.Grant{}, access.ErrInvalid
	}
	g.Access, g.Expires = fmt.Sprintf("ada-%d", p.refreshed.Add(1)), time.Now().Add(p.lifetime)
	return g, nil
}

func refusedClient() error {
	return &access.ClientError{Err: errors.New("issuer says: invalid_client"), Remedy: "Correct -things-secret."}
}

func (p *provider) Identify(_ context.Context, token string) (access.Identity, error) {
	if !strings.HasPrefix(token, "ada-") {
		return access.Identity{}, access.ErrInvalid
	}
	if p.other.Load() {
		return access.Identity{Name: "Eve", Role: httpapi.Admin}, nil
	}
	return access.Identity{Name: "Ada", Role: httpapi.Operator}, nil
}

func (p *provider) EndURL(context.Context, access.Grant) string {
	return "http://issuer.example/logout"
}

// signOn returns a server whose people sign in at a provider, which sends them back to
// /login/answer of the same host.
func signOn(t *testing.T, p *provider, config access.Config) (http.Handler, *access.Door) {
	if p.lifetime == 0 {
		p.lifetime = 5 * time.Minute
	}
	d := closed(t, config)
	require.ErrorContains(t, d.SignOn(access.SignOn{Provider: p, AnswerURL: "/login/answer"}), "AnswerURL")
	require.NoError(t, d.SignOn(access.SignOn{Provider: p, Name: "the issuer", AnswerURL: "http://example.com:8999/login/answer"}))
	return served(d, nil), d
}

// browse sends a request with cookies, and returns the answer with the cookies of both.
func browse(h http.Handler, method, target string, cookies map[string]string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, target, nil), httptest.NewRecorder()
	r.Header.Set("Accept", "text/html")
	for name, value := range cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	h.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		if cookie.MaxAge < 0 {
			delete(cookies, cookie.Name)
		} else {
			cookies[cookie.Name] = cookie.Value
		}
	}
	return w
}

func TestDoor_SignOn_signsInAndOut(t *testing.T) {
	p, cookies := &provider{}, map[string]string{}
	h, _ := signOn(t, p, access.Config{})
	require.Contains(t, browse(h, "GET", "http://example.com:8080/.enablers/sign-in?to=/things?a=1", cookies).Body.String(),
		`href="/.enablers/sign-on?to=%2fthings%3fa%3d1">Sign in at the issuer</a>`)
	w := browse(h, "GET", "http://example.com:8080/.enablers/sign-on?to=/things?a=1", cookies)
	require.Equal(t, 303, w.Code)
	require.Equal(t, "http://issuer.example/login", w.Header().Get("Location"))
	require.Equal(t, http.SameSiteLaxMode, w.Result().Cookies()[0].SameSite, "another site leads back")
	w = browse(h, "GET", "http://example.com:8999/login/answer?code=good", cookies)
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `content="0; url=http://example.com:8080/things?a=1"`)
	require.Len(t, cookies, 1)
	require.Equal(t, 200, browse(h, "GET", "http://example.com:8080/things", cookies).Code)
	require.Equal(t, 200, browse(h, "POST", "http://example.com:8081/things", cookies).Code, "an operator, on another port")
	require.Contains(t, browse(h, "GET", "http://example.com/.enablers/sign-in", cookies).Body.String(), "<strong>Ada</strong>")
	before := map[string]string{}
	for name, value := range cookies {
		before[name] = value
	}
	require.Contains(t, browse(h, "POST", "http://example.com/.enablers/sign-out", cookies).Body.String(),
		`content="0; url=http://issuer.example/logout"`)
	require.Empty(t, cookies)
	require.Equal(t, 303, browse(h, "GET", "http://example.com/things", before).Code, "the session has ended")
}

func TestDoor_SignOn_refusesAnswersOfOthers(t *testing.T) {
	p, cookies := &provider{}, map[string]string{}
	h, _ := signOn(t, p, access.Config{})
	require.Equal(t, 400, browse(h, "GET", "http://example.com/login/answer?code=good", cookies).Code, "no sign-in has begun")
	browse(h, "GET", "http://example.com/.enablers/sign-on?to=//evil.example/", cookies)
	require.Equal(t, 403, browse(h, "GET", "http://example.com/login/answer?code=wrong", cookies).Code)
	require.Empty(t, cookies, "the sign-in is over")
	browse(h, "GET", "http://example.com/.enablers/sign-on?to=//evil.example/", cookies)
	w := browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	require.Contains(t, w.Body.String(), `content="0; url=http://example.com/"`)
	require.NotContains(t, w.Body.String(), "evil")
	require.Equal(t, 404, send(served(closed(t, access.Config{}), nil), "GET", "/.enablers/sign-on", "").Code)
}

func TestDoor_SignOn_keepsNothingOfCallersThatAreNotIdentified(t *testing.T) {
	p, cookies := &provider{}, map[string]string{}
	h, d := signOn(t, p, access.Config{})
	browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
	browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	for range 1100 { // more than there are sessions in memory
		w := browse(h, "GET", "http://example.com/.enablers/sign-on?to=/"+strings.Repeat("a", 5000), map[string]string{})
		require.Less(t, len(w.Result().Cookies()[0].String()), 4096, "browsers keep no larger ones")
	}
	require.Equal(t, 200, browse(h, "GET", "http://example.com/things", cookies).Code, "the session of Ada goes on")
	require.Contains(t, send(served(d, nil), "GET", "/.enablers/sign-in", "").Body.String(), "Sign in")
}

func TestDoor_SignOn_leadsToNoOtherHost(t *testing.T) {
	h, _ := signOn(t, &provider{}, access.Config{})
	for to, code := range map[string]int{"http://example.com:1/a": 200, "https://evil.example/": 400, "javascript:1//example.com": 400,
		"http://example.com@evil.example/": 400, "//example.com/": 400} {
		value := fmt.Sprintf(`{"state": "c3RhdGUtb2YtYWRh", "to": %q, "until": "2999-01-01T00:00:00Z"}`, to)
		cookies := map[string]string{access.CookiePrefix + "things-login": base64.RawURLEncoding.EncodeToString([]byte(value))}
		require.Equal(t, code, browse(h, "GET", "http://example.com/login/answer?code=good", cookies).Code, to)
	}
	w := browse(h, "GET", "http://example.com/.enablers/sign-in?to=/.enablers/sign-on", map[string]string{})
	require.Contains(t, w.Body.String(), `href="/.enablers/sign-on?to=%2f"`, "not in a circle")
}

func TestDoor_SignOn_beginsUnderTheNameOfTheAnswer(t *testing.T) {
	h, _ := signOn(t, &provider{}, access.Config{})
	w := browse(h, "GET", "http://127.0.0.1:8080/.enablers/sign-on?to=/things", map[string]string{})
	require.Equal(t, "http://example.com:8080/.enablers/sign-on?to=%2Fthings", w.Header().Get("Location"))
	require.Empty(t, w.Result().Cookies())
}

func TestDoor_Granted_refreshesOnceForAllRequests(t *testing.T) {
	p, cookies := &provider{lifetime: 10 * time.Second}, map[string]string{}
	h, d := signOn(t, p, access.Config{})
	browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
	browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	refreshed := p.refreshed.Load()
	p.lifetime = time.Hour
	request := httptest.NewRequest("GET", "http://example.com/things", nil)
	for name, value := range cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			identity, grant, err := d.Granted(request)
			if err != nil || identity.Name != "Ada" || !strings.HasPrefix(grant.Access, "ada-") {
				t.Error(identity, grant, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, refreshed+1, p.refreshed.Load())
	require.Equal(t, access.Identity{Name: "Ada", Role: httpapi.Operator}, d.Caller(request))
}

func TestDoor_Granted_refreshesAlsoWhenTheBrowserGoesAway(t *testing.T) {
	p, cookies := &provider{lifetime: 10 * time.Second}, map[string]string{}
	h, d := signOn(t, p, access.Config{})
	browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
	browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	ctx, leave := context.WithCancel(t.Context())
	p.refreshing = leave
	request := httptest.NewRequestWithContext(ctx, "GET", "http://example.com/things", nil)
	for name, value := range cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	_, grant, err := d.Granted(request)
	require.NoError(t, err, "the provider has used the old token up")
	require.Equal(t, "ada-1", grant.Access)
}

func TestDoor_Granted_endsWhenAGrantIsForAnotherPerson(t *testing.T) {
	p, cookies := &provider{lifetime: 10 * time.Second}, map[string]string{}
	h, _ := signOn(t, p, access.Config{})
	browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
	browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	require.Equal(t, 200, browse(h, "GET", "http://example.com/things", cookies).Code)
	p.other.Store(true)
	require.Equal(t, 303, browse(h, "GET", "http://example.com/things", cookies).Code)
	p.other.Store(false)
	require.Equal(t, 303, browse(h, "GET", "http://example.com/things", cookies).Code, "it has ended for good")
}

func TestDoor_Granted_endsWithTheSessionAtTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the grant lasts for seconds
		p, cookies := &provider{lifetime: 10 * time.Second}, map[string]string{}
		h, _ := signOn(t, p, access.Config{})
		browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
		browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
		p.away.Store(true)
		require.Equal(t, 200, browse(h, "GET", "http://example.com/things", cookies).Code, "the grant is good for a moment")
		p.away.Store(false)
		p.gone.Store(true)
		require.Equal(t, 303, browse(h, "GET", "http://example.com/things", cookies).Code)
		p.gone.Store(false)
		require.Equal(t, 303, browse(h, "GET", "http://example.com/things", cookies).Code, "it has ended for good")
	})
}

func TestDoor_SignOn_acceptsTheTokensOfTheProvider(t *testing.T) {
	h, _ := signOn(t, &provider{}, access.Config{})
	require.Equal(t, 200, send(h, "POST", "/things", "", bearer("ada-1")...).Code, "a program with a token of an operator")
	require.Equal(t, 401, send(h, "GET", "/things", "", bearer("eve-1")...).Code)
	h, _ = signOn(t, &provider{}, access.Config{Verifier: refusing{}})
	require.Equal(t, 200, send(h, "GET", "/things", "", bearer("ada-1")...).Code, "beside another issuer")
	require.Equal(t, 401, send(h, "GET", "/things", "", bearer("eve-1")...).Code)
}

// refusing is another issuer, which knows no token.
type refusing struct{}

func (refusing) Identify(context.Context, string) (access.Identity, error) {
	return access.Identity{}, errors.New("of another issuer")
}

func TestDoor_SignOn_knowsAProxyWithTLS(t *testing.T) {
	d, cookies := closed(t, access.Config{}), map[string]string{}
	require.NoError(t, d.SignOn(access.SignOn{Provider: &provider{lifetime: time.Hour}, AnswerURL: "https://example.com/login/answer"}))
	h := served(d, nil)
	w := browse(h, "GET", "http://example.com/.enablers/sign-on?to=/things", cookies)
	require.True(t, w.Result().Cookies()[0].Secure)
	w = browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	require.Contains(t, w.Body.String(), `content="0; url=https://example.com/things"`)
	require.True(t, w.Result().Cookies()[0].Secure)
	w = browse(h, "GET", "http://example.com:8080/.enablers/sign-on", map[string]string{})
	require.False(t, w.Result().Cookies()[0].Secure, "another listener has no TLS")
}

func TestDoor_SignOn_saysThatTheProviderIsAway(t *testing.T) {
	p := &provider{}
	h, _ := signOn(t, p, access.Config{})
	p.away.Store(true)
	w := browse(h, "GET", "http://example.com/.enablers/sign-on", map[string]string{})
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "The identity provider cannot be reached.")
}

func TestDoor_SignOn_saysThatTheProviderRefusesThisServer(t *testing.T) {
	var log bytes.Buffer
	p := &provider{}
	h, _ := signOn(t, p, access.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p.refuses.Store(true)
	cookies := map[string]string{}
	browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
	w := browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(),
		"The identity provider refuses the client id or the client secret of this server. Correct -things-secret.")
	require.NotContains(t, w.Body.String(), "invalid_client", "the answer is for the log")
	require.Contains(t, log.String(), "invalid_client")
	require.Contains(t, log.String(), "Correct -things-secret.")
}

func TestDoor_Granted_lastsWhileTheProviderRefusesThisServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the grant lasts for seconds
		var log bytes.Buffer
		p, cookies := &provider{lifetime: 10 * time.Second}, map[string]string{}
		h, _ := signOn(t, p, access.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		browse(h, "GET", "http://example.com/.enablers/sign-on", cookies)
		browse(h, "GET", "http://example.com/login/answer?code=good", cookies)
		p.refuses.Store(true)
		for range 3 {
			require.Equal(t, 200, browse(h, "GET", "http://example.com/things", cookies).Code, "the grant is good for a moment")
		}
		require.Equal(t, 1, strings.Count(log.String(), "Correct -things-secret."))
		time.Sleep(11 * time.Second)
		w := browse(h, "GET", "http://example.com/things", cookies)
		require.Equal(t, 503, w.Code)
		require.Contains(t, w.Body.String(), "Correct -things-secret.")
		p.refuses.Store(false)
		require.Equal(t, 200, browse(h, "GET", "http://example.com/things", cookies).Code, "the session has not ended")
	})
}

// outage is a store of sessions that does not answer.
type outage struct{ access.Sessions }

func (outage) Find(context.Context, string) ([]byte, error) {
	return nil, errors.New("the database is away")
}

func TestDoor_Authorize_saysThatSessionsCannotBeLookedAt(t *testing.T) {
	h := served(closed(t, access.Config{Sessions: outage{}}), nil)
	w := browse(h, "GET", "http://example.com/things", map[string]string{access.CookiePrefix + "things": "a"})
	require.Equal(t, 503, w.Code, w.Body)
}
