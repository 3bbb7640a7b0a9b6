package access_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

const (
	readToken    = "token-of-a-reader"
	operateToken = "token-of-an-operator"
	adminToken   = "token-of-an-admin"
)

// tokens returns the tokens of three callers.
func tokens() []*access.TokenFile {
	return []*access.TokenFile{
		access.NewToken(access.Identity{Name: "dashboard", Role: httpapi.Reader}, readToken),
		access.NewToken(access.Identity{Name: "deployer", Role: httpapi.Operator}, operateToken),
		access.NewToken(access.Identity{Name: "owner", Role: httpapi.Admin}, adminToken),
	}
}

// closed returns a door that accepts the tokens, and what config adds.
func closed(t *testing.T, config access.Config) *access.Door {
	t.Helper()
	config.Name, config.Tokens = "things", append(config.Tokens, tokens()...)
	door, err := access.New(config)
	require.NoError(t, err)
	return door
}

// served returns a handler with a route for each role, behind the door.
func served(door *access.Door, opts *access.HandlerOptions) http.Handler {
	ok := func(w http.ResponseWriter, _ *http.Request) error { return httpapi.WriteJSON(w, true) }
	return door.Handler(httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /things", Func: ok}, {Pattern: "POST /things", Func: ok},
		{Pattern: "GET /secrets", Func: ok, Role: httpapi.Admin}, {Pattern: "GET /healthz", Func: ok, Role: httpapi.Public},
	}, &httpapi.Options{Authorize: door.Authorizer()}), opts)
}

// send sends a request with header fields, as name and value in turns.
func send(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func TestDoor_Authorize_comparesRoles(t *testing.T) {
	h := served(closed(t, access.Config{}), nil)
	for _, one := range []struct {
		token, method, path string
		status              int
	}{
		{"", "GET", "/things", 401}, {"not-a-token-of-anyone", "GET", "/things", 401}, {"", "GET", "/healthz", 200},
		{readToken, "GET", "/things", 200}, {readToken, "POST", "/things", 403}, {readToken, "GET", "/secrets", 403},
		{operateToken, "GET", "/things", 200}, {operateToken, "POST", "/things", 200}, {operateToken, "GET", "/secrets", 403},
		{adminToken, "GET", "/things", 200}, {adminToken, "POST", "/things", 200}, {adminToken, "GET", "/secrets", 200},
	} {
		var header []string
		if one.token != "" {
			header = bearer(one.token)
		}
		require.Equal(t, one.status, send(h, one.method, one.path, "", header...).Code, "%+v", one)
	}
	answer := send(h, "GET", "/things", "")
	require.Equal(t, `Bearer realm="things"`, answer.Header().Get("WWW-Authenticate"))
	answer = send(h, "GET", "/things", "", bearer("not-a-token-of-anyone")...)
	require.Equal(t, `Bearer realm="things", error="invalid_token"`, answer.Header().Get("WWW-Authenticate"))
	require.NotContains(t, answer.Body.String(), "not-a-token")
	answer = send(h, "POST", "/things", "", bearer(readToken)...)
	require.Equal(t, `Bearer realm="things", error="insufficient_scope", scope="operator"`,
		answer.Header().Get("WWW-Authenticate"))
	require.Contains(t, answer.Body.String(), `the role operator is required, and "dashboard" has the role reader`)
	for _, other := range []string{"Basic " + adminToken, adminToken, "Bearer", "Bearer  ", "bearer" + adminToken} {
		require.Equal(t, 401, send(h, "GET", "/things", "", "Authorization", other).Code, other)
	}
	require.Equal(t, 200, send(h, "GET", "/things", "", "Authorization", "bearer "+adminToken).Code)
}

func TestDoor_Authorizer_isNilForAnOpenDoor(t *testing.T) {
	door, err := access.New(access.Config{Name: "things", Open: true})
	require.NoError(t, err)
	require.True(t, door.IsOpen())
	require.Nil(t, door.Authorizer())
	require.NoError(t, door.Authorize(httptest.NewRequest("POST", "/things", nil), "admin"))
	h := served(door, &access.HandlerOptions{Backup: http.NotFoundHandler})
	require.Equal(t, 200, send(h, "GET", "/secrets", "").Code)
	require.Equal(t, 403, send(h, "GET", "/.enablers/backup", "").Code, "a backup has secrets")
	_, err = door.Admit(t.Context(), access.Credentials{}, httpapi.Admin)
	require.NoError(t, err)
}

func TestNew_requiresAWayIn(t *testing.T) {
	_, err := access.New(access.Config{Name: "things"})
	require.ErrorContains(t, err, "no way to be let in")
	_, err = access.New(access.Config{Open: true})
	require.ErrorContains(t, err, "Config.Name")
}

func TestDoor_Admit_readsRolesFromCertificates(t *testing.T) {
	state := func(units ...string) *tls.ConnectionState {
		return &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{
			{Subject: pkix.Name{CommonName: "press-7", OrganizationalUnit: units}},
		}}}
	}
	door := closed(t, access.Config{Certificates: true})
	for _, one := range []struct {
		units []string
		role  httpapi.Role
	}{
		{nil, httpapi.Reader}, {[]string{"Plant 3"}, httpapi.Reader},
		{[]string{"Plant 3", "operator"}, httpapi.Operator}, {[]string{"admin"}, httpapi.Admin},
	} {
		identity, err := door.Identify(t.Context(), access.Credentials{TLS: state(one.units...)})
		require.NoError(t, err)
		require.Equal(t, access.Identity{Name: "press-7", Role: one.role}, identity)
	}
	unverified := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	_, err := door.Admit(t.Context(), access.Credentials{TLS: unverified}, httpapi.Reader)
	require.ErrorIs(t, err, access.ErrAnonymous, "a certificate that is not verified says nothing")
	_, err = closed(t, access.Config{}).Admit(t.Context(), access.Credentials{TLS: state("admin")}, httpapi.Reader)
	require.ErrorIs(t, err, access.ErrAnonymous, "certificates are not accepted here")
	certified, err := access.New(access.Config{Name: "things", Certificates: true})
	require.NoError(t, err)
	require.Contains(t, send(served(certified, nil), "GET", "/things", "").Body.String(),
		"A client certificate of the authorities of -tls-client-ca is required.")
	admin := closed(t, access.Config{Certificates: true, CertificateRole: httpapi.Admin})
	_, err = admin.Admit(t.Context(), access.Credentials{TLS: state()}, httpapi.Admin)
	require.NoError(t, err)
}

// issuer is a Verifier with one token for each answer.
type issuer struct{}

func (issuer) Identify(_ context.Context, token string) (access.Identity, error) {
	switch token {
	case "valid":
		return access.Identity{Name: "ada", Role: httpapi.Operator}, nil
	case "without a role":
		return access.Identity{Name: "bob", Role: httpapi.Public}, nil
	case "away":
		return access.Identity{}, errors.Join(access.ErrUnavailable, errors.New("connection refused"))
	}
	return access.Identity{}, errors.New("bad signature")
}

func TestDoor_Authorize_takesTokensOfAVerifier(t *testing.T) {
	h := served(closed(t, access.Config{Verifier: issuer{}}), nil)
	require.Equal(t, 200, send(h, "POST", "/things", "", bearer("valid")...).Code)
	require.Equal(t, 403, send(h, "GET", "/things", "", bearer("without a role")...).Code)
	require.Equal(t, 401, send(h, "GET", "/things", "", bearer("forged")...).Code)
	answer := send(h, "GET", "/things", "", bearer("away")...)
	require.Equal(t, 503, answer.Code)
	require.NotEmpty(t, answer.Header().Get("Retry-After"))
}

func TestDoor_Closed_identifiesCallersOfAnOpenDoor(t *testing.T) {
	open, err := access.New(access.Config{Name: "things", Open: true})
	require.NoError(t, err)
	part := open.Closed(access.NewToken(access.Identity{Name: "part", Role: httpapi.Operator}, operateToken))
	everything, closed := served(open, nil), served(part, nil)
	require.Equal(t, 200, send(everything, "POST", "/things", "").Code)
	require.Equal(t, 401, send(closed, "POST", "/things", "").Code)
	require.Equal(t, 401, send(closed, "GET", "/things", "").Code)
	require.Equal(t, 200, send(closed, "POST", "/things", "", bearer(operateToken)...).Code)
	require.Equal(t, 403, send(closed, "GET", "/secrets", "", bearer(operateToken)...).Code)

	page := send(everything, "GET", "/.enablers/sign-in", "")
	require.Contains(t, page.Body.String(), `name="token"`, "the sign-in page of the server takes the token")
	require.NotContains(t, page.Body.String(), "No sign-in needed")
	form := func(token string) *httptest.ResponseRecorder {
		return send(everything, "POST", "/.enablers/sign-in", url.Values{"token": {token}, "to": {"/things"}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded")
	}
	require.Equal(t, 403, form("a wrong token").Code)
	cookie := form(operateToken).Result().Cookies()[0]
	require.Equal(t, 200, send(closed, "POST", "/things", "", "Cookie", cookie.Name+"="+cookie.Value).Code)
	r := httptest.NewRequest("GET", "/things", nil)
	require.Equal(t, access.Identity{}, open.Caller(r), "an open door assigns no role")
	r.AddCookie(cookie)
	require.Equal(t, access.Identity{Name: "part", Role: httpapi.Operator}, open.Caller(r))
}

func TestDoor_Identify_slowsFailedAttemptsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := closed(t, access.Config{})
		try := func(address, token string) error {
			_, err := door.Identify(t.Context(), access.Credentials{Address: address, Token: token})
			return err
		}
		require.NoError(t, try("192.0.2.1:1", readToken))
		for range 10 {
			require.ErrorIs(t, try("192.0.2.1:2", "guess"), access.ErrInvalid)
		}
		var slowed *access.SlowedError
		require.ErrorAs(t, try("192.0.2.1:3", "guess"), &slowed)
		require.Equal(t, time.Second, slowed.After)
		require.ErrorAs(t, try("192.0.2.1:3", adminToken), &slowed, "a right guess is slowed too")
		require.NoError(t, try("192.0.2.1:4", readToken), "what was valid before goes on")
		require.NoError(t, try("192.0.2.2:1", adminToken), "other addresses go on")
		time.Sleep(time.Second)
		require.ErrorIs(t, try("192.0.2.1:3", "guess"), access.ErrInvalid, "one more attempt a second")
		require.ErrorAs(t, try("192.0.2.1:3", "guess"), &slowed)
		time.Sleep(time.Minute)
		require.NoError(t, try("192.0.2.1:3", adminToken))

		for range 10 {
			require.ErrorIs(t, try("[2001:db8::1]:1", "guess"), access.ErrInvalid)
		}
		require.ErrorAs(t, try("[2001:db8::ffff]:1", "guess"), &slowed, "one network of 64 bits counts as one address")
		require.ErrorIs(t, try("[2001:db8:0:1::1]:1", "guess"), access.ErrInvalid)
	})
}

func TestDoor_Identify_remembersABoundedNumberOfAddresses(t *testing.T) {
	door := closed(t, access.Config{})
	const many = 30_000
	for i := range many {
		address := fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
		_, err := door.Identify(t.Context(), access.Credentials{Address: address, Token: "guess"})
		require.ErrorIs(t, err, access.ErrInvalid)
	}
	require.LessOrEqual(t, door.Addresses(), 10_000)
}

func TestOpenTokens_namesTheLineOfAFault(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	for text, want := range map[string]string{
		"":                           "it has no token",
		"# only a comment\n\n":       "it has no token",
		"a reader\n":                 ":1: expected NAME ROLE TOKEN, got 2 words",
		"\na owner 0123456789abcdef": ":2: the second word must be one of the roles [reader operator admin]",
		"a reader 0123456789abcde":   `:1: the token has 15 characters`,
		"a reader 0123456789abcdef\na admin 0123456789abcdeg":             `:2: the name is that of line 1 too`,
		"a reader 0123456789abcdef\nb admin 0123456789abcdef":             `:2: the token is that of line 1 too`,
		"0123456789abcdef reader ops":                                     `:1: the token has 3 characters`,
		strings.Repeat("0123456789", 7) + " reader ops-and-16-characters": `:1: the name has 70 characters`,
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := access.OpenTokens(t.Context(), name, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "0123456789")
	}
	_, err := access.OpenTokens(t.Context(), filepath.Join(t.TempDir(), "absent"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCheckToken_refusesOneThatCanBeGuessed(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	err := access.CheckToken("-token", "seven c", log)
	require.EqualError(t, err, "-token: the token has 7 characters, and can be guessed: use 16 or more")
	require.NoError(t, access.CheckToken("-token", "sixteen or more characters", log))
	require.Empty(t, text.String())
	require.NoError(t, access.CheckToken("-token", "eight ch", log))
	require.Contains(t, text.String(), "THE TOKEN IS TOO SHORT")
	require.NotContains(t, text.String(), "eight ch")
}

func TestTokenFile_isReadAgainWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "tokens")
		write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
		write("# callers\nold admin " + adminToken + "\n")
		file, err := access.OpenTokens(t.Context(), name, nil)
		require.NoError(t, err)
		door, err := access.New(access.Config{Name: "things", Tokens: []*access.TokenFile{file}})
		require.NoError(t, err)
		valid := func(token string) bool {
			_, err := door.Identify(t.Context(), access.Credentials{Token: token})
			return err == nil
		}
		require.True(t, valid(adminToken))
		write("new reader " + readToken + "\n")
		time.Sleep(time.Second)
		require.False(t, valid(adminToken))
		require.True(t, valid(readToken))
		write("torn read")
		time.Sleep(time.Second)
		require.True(t, valid(readToken), "the last valid content holds")
		require.NoError(t, os.Remove(name))
		time.Sleep(time.Second)
		require.True(t, valid(readToken), "it may be replaced")
		time.Sleep(time.Minute)
		require.False(t, valid(readToken), "one that is gone has no tokens")
		write("old admin " + adminToken + "\n")
		time.Sleep(time.Second)
		require.True(t, valid(adminToken))
		write("# all are taken back\n")
		time.Sleep(time.Second)
		require.False(t, valid(adminToken))
		write("newest admin " + operateToken + "\n")
		time.Sleep(time.Second)
		require.True(t, valid(operateToken))
	})
}

func TestTokenFile_isReadAgainWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(name, []byte("ada admin "+adminToken), 0o600))
		file, err := access.OpenTokens(t.Context(), name, nil)
		require.NoError(t, err)
		door, err := access.New(access.Config{Name: "things", Tokens: []*access.TokenFile{file}})
		require.NoError(t, err)
		valid := func() bool {
			time.Sleep(time.Second) // after which the file is looked at again
			_, err := door.Identify(t.Context(), access.Credentials{Token: adminToken})
			return err == nil
		}
		away := func() { require.NoError(t, os.Rename(name, name+"-away")) }
		back := func() { require.NoError(t, os.Rename(name+"-away", name)) }

		away()
		require.True(t, valid())
		time.Sleep(time.Minute)
		require.False(t, valid())
		back() // with the time and size of before
		require.True(t, valid())

		away()
		require.True(t, valid())
		back()
		require.True(t, valid())
		time.Sleep(time.Minute)
		away()
		require.True(t, valid(), "an earlier absence does not count")
		back()
		require.True(t, valid())

		require.NoError(t, os.WriteFile(name, []byte("torn"), 0o600))
		require.True(t, valid())
		time.Sleep(time.Minute)
		away()
		require.True(t, valid(), "invalid content is not an absence")
	})
}

func TestDoor_Handler_signsBrowsersIn(t *testing.T) {
	h := served(closed(t, access.Config{}), nil)
	page := []string{"Accept", "text/html,*/*;q=0.8", "Sec-Fetch-Mode", "navigate"}
	answer := send(h, "GET", "/things?all=1", "", page...)
	require.Equal(t, 303, answer.Code)
	require.Equal(t, "/.enablers/sign-in?to=%2Fthings%3Fall%3D1", answer.Header().Get("Location"))
	script := []string{"Accept", "text/html", "Sec-Fetch-Mode", "cors"}
	require.Equal(t, 401, send(h, "GET", "/things", "", script...).Code, "a script gets no form")
	require.Equal(t, 401, send(h, "POST", "/things", "", page...).Code)

	answer = send(h, "GET", answer.Header().Get("Location"), "", page...)
	require.Equal(t, 200, answer.Code)
	require.Contains(t, answer.Body.String(), `name="to" value="/things?all=1"`)
	require.Contains(t, answer.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
	form := func(token, to string) *httptest.ResponseRecorder {
		return send(h, "POST", "/.enablers/sign-in", url.Values{"token": {token}, "to": {to}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded")
	}
	require.Equal(t, 413, form(strings.Repeat("x", 1<<20), "/things").Code)
	answer = form("a wrong token", "/things")
	require.Equal(t, 403, answer.Code)
	require.Contains(t, answer.Body.String(), "The token is not valid.")
	require.NotContains(t, answer.Body.String(), "a wrong token")
	require.Empty(t, answer.Result().Cookies())
	require.Equal(t, 403, form("", "/things").Code)

	answer = form(" "+operateToken+"\n", "/things")
	require.Equal(t, 303, answer.Code)
	require.Equal(t, "/things", answer.Header().Get("Location"))
	cookie := answer.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, operateToken)
	signedIn := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	require.Equal(t, 200, send(h, "POST", "/things", "", signedIn...).Code)
	require.Equal(t, 403, send(h, "GET", "/secrets", "", signedIn...).Code)
	require.Contains(t, send(h, "GET", "/.enablers/sign-in", "", signedIn...).Body.String(), "deployer")
	both := append(signedIn, bearer("a wrong token")...)
	require.Equal(t, 401, send(h, "POST", "/things", "", both...).Code, "a token counts before a cookie")

	require.Equal(t, 303, send(h, "POST", "/.enablers/sign-out", "", signedIn...).Code)
	require.Equal(t, 401, send(h, "POST", "/things", "", signedIn...).Code)
	for _, elsewhere := range []string{
		"//evil.example", "https://evil.example", `/\evil.example`, "", "evil", "/\x00x", "/\x7f", "/.enablers/sign-in?to=/",
	} {
		require.Equal(t, "/", form(adminToken, elsewhere).Header().Get("Location"), elsewhere)
	}
	require.Equal(t, 403, send(h, "POST", "/.enablers/sign-in", "token="+adminToken, "Origin", "https://evil.example").Code)
}

func TestDoor_Handler_asksForTheCertificateThatItTakes(t *testing.T) {
	door, err := access.New(access.Config{Name: "things", Certificates: true,
		Self: access.NewToken(access.Identity{Name: "this process", Role: httpapi.Admin}, adminToken)})
	require.NoError(t, err)
	h := served(door, nil)
	page := send(h, "GET", "/.enablers/sign-in?to=/things", "").Body.String()
	require.Contains(t, page, "by a client certificate")
	require.NotContains(t, page, `name="token"`)
	answer := send(h, "GET", "/things", "")
	require.Equal(t, 401, answer.Code)
	require.Contains(t, answer.Body.String(), "client certificate")
	require.NotContains(t, answer.Body.String(), "Bearer")
	require.Equal(t, 200, send(h, "GET", "/secrets", "", bearer(adminToken)...).Code, "the process reaches itself")
	_, err = access.New(access.Config{Name: "things", Self: access.NewToken(access.Identity{}, adminToken)})
	require.ErrorContains(t, err, "no way to be let in")
}

func TestDoor_Handler_endsSessionsWithTheirToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(name, []byte("ada admin ada-has-this-token"), 0o600))
		file, err := access.OpenTokens(t.Context(), name, nil)
		require.NoError(t, err)
		h := served(closed(t, access.Config{Tokens: []*access.TokenFile{file}}), nil)
		sign := func(token string) []string {
			answer := send(h, "POST", "/.enablers/sign-in", "token="+token,
				"Content-Type", "application/x-www-form-urlencoded")
			require.Equal(t, 303, answer.Code)
			return []string{"Cookie", answer.Result().Cookies()[0].Name + "=" + answer.Result().Cookies()[0].Value}
		}
		ada, owner := sign("ada-has-this-token"), sign(adminToken)
		require.Equal(t, 200, send(h, "GET", "/secrets", "", ada...).Code)
		require.NoError(t, os.WriteFile(name, []byte("bob admin bob-has-that-token"), 0o600))
		time.Sleep(time.Second)
		require.Equal(t, 401, send(h, "GET", "/secrets", "", ada...).Code)
		require.Equal(t, 200, send(h, "GET", "/secrets", "", owner...).Code)
		time.Sleep(12 * time.Hour)
		require.Equal(t, 401, send(h, "GET", "/secrets", "", owner...).Code)
	})
}

func TestDoor_Handler_boundsTheSessionsOfAToken(t *testing.T) {
	h := served(closed(t, access.Config{}), nil)
	sign := func(token string) []string {
		answer := send(h, "POST", "/.enablers/sign-in", "token="+token, "Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, 303, answer.Code)
		return []string{"Cookie", answer.Result().Cookies()[0].Name + "=" + answer.Result().Cookies()[0].Value}
	}
	owner, first := sign(adminToken), sign(readToken)
	for range 20 {
		sign(readToken)
	}
	require.Equal(t, 401, send(h, "GET", "/things", "", first...).Code)
	require.Equal(t, 200, send(h, "GET", "/things", "", owner...).Code)
}

func TestDoor_Handler_countsOutcomes(t *testing.T) {
	h := served(closed(t, access.Config{}), nil)
	send(h, "GET", "/things", "")
	send(h, "GET", "/things", "", bearer("guess")...)
	send(h, "POST", "/things", "", bearer(readToken)...)
	answer := send(h, "GET", "/.enablers/metrics", "", bearer(readToken)...)
	require.Equal(t, 200, answer.Code)
	for _, line := range []string{`{outcome="granted"} 1`, `{outcome="anonymous"} 1`, `{outcome="invalid"} 1`, `{outcome="forbidden"} 1`} {
		require.Contains(t, answer.Body.String(), "enablers_access_requests_total"+line+"\n")
	}
	require.Equal(t, 401, send(h, "GET", "/.enablers/metrics", "").Code)
}

func TestDoor_Handler_countsNoSessionThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := served(closed(t, access.Config{}), nil)
		sessions := func() string {
			answer := send(h, "GET", "/.enablers/metrics", "", bearer(readToken)...)
			_, after, _ := strings.Cut(answer.Body.String(), "\nenablers_access_sessions ")
			return after
		}
		send(h, "POST", "/.enablers/sign-in", "token="+readToken, "Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, "1\n", sessions())
		time.Sleep(12 * time.Hour)
		require.Equal(t, "0\n", sessions())
	})
}

func TestDoor_Handler_sendsBackupsToAdmins(t *testing.T) {
	backup := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "everything") })
	h := served(closed(t, access.Config{}), &access.HandlerOptions{Backup: func() http.Handler { return backup }})
	require.Equal(t, "everything", send(h, "GET", "/.enablers/backup", "", bearer(adminToken)...).Body.String())
	require.Equal(t, 403, send(h, "GET", "/.enablers/backup", "", bearer(operateToken)...).Code)
	for _, opts := range []*access.HandlerOptions{nil, {Backup: func() http.Handler { return nil }}} {
		without := served(closed(t, access.Config{}), opts)
		require.Equal(t, 501, send(without, "GET", "/.enablers/backup", "", bearer(adminToken)...).Code)
	}
}

func TestDoor_Handler_agreesWithItsOpenAPIDocument(t *testing.T) {
	h := served(closed(t, access.Config{}), nil)
	answer := send(h, "GET", "/.enablers/openapi.json", "")
	require.NoError(t, httpapi.CheckRoutes(access.Routes(closed(t, access.Config{})), answer.Body.Bytes()))
}
