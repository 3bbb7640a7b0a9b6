package attack_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// free is how many failed attempts an address has before it is slowed down.
const free = 10

// protected returns a route of a listener that requires the role reader and has no
// parameter.
func protected(t *testing.T, at string) operation {
	t.Helper()
	for _, o := range operations(t, at) {
		if o.method == http.MethodGet && o.role == httpapi.Reader && o.path == o.pattern {
			return o
		}
	}
	for _, o := range operations(t, at) { // the admin API of the gateway has none for readers
		if o.method == http.MethodGet && o.role == httpapi.Admin && o.path == o.pattern {
			return o
		}
	}
	t.Fatal("no route is protected")
	return operation{}
}

// TestGuessing_isSlowedAndGoodTokensGoOn guesses tokens at every listener, in the header field and
// at the sign-in page.
func TestGuessing_isSlowedAndGoodTokensGoOn(t *testing.T) {
	test := func(t *testing.T, p *process) {
		for name, at := range p.at {
			if outsideTheDoor[name] {
				continue
			}
			o, good := protected(t, at), p.tokens[httpapi.Admin]
			require.Equal(t, http.StatusOK, send(t, "GET "+o.url, good, "").status)
			slowed, invalid := 0, 0
			for i := range 5 * free {
				a := send(t, "GET "+o.url, fmt.Sprintf("a guess of a token %d", i), "")
				switch a.status {
				case http.StatusUnauthorized:
					invalid++
					require.Contains(t, a.header.Get("WWW-Authenticate"), "invalid_token")
				case http.StatusTooManyRequests:
					slowed++
					seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
					require.NoError(t, err)
					require.Positive(t, seconds)
				default:
					t.Fatalf("%s: %d %s", o.url, a.status, a.body)
				}
			}
			require.Positive(t, slowed, "%s: 50 guesses were checked", at)
			require.Equal(t, http.StatusOK, send(t, "GET "+o.url, good, "").status, "a good token goes on")
			form := url.Values{"token": {"a guess of a token at the page"}, "to": {"/"}}.Encode()
			a := slowedDown(t, o, func() answer {
				return send(t, "POST "+at+"/.enablers/sign-in", "", form, "Content-Type: application/x-www-form-urlencoded")
			})
			require.Equal(t, http.StatusTooManyRequests, a.status, "the page is slowed as well")
			require.NotEmpty(t, a.header.Get("Retry-After"))
			a = slowedDown(t, o, func() answer {
				return send(t, "GET "+o.url, "a guess from another address", "", "X-Forwarded-For: 192.0.2.7")
			})
			require.Equal(t, http.StatusTooManyRequests, a.status, "an address that is claimed is not the one that counts")
			return // the listeners of a process share a door
		}
	}
	for _, c := range commands() { // one after the other, for an attempt is free after each second
		t.Run(c.name, func(t *testing.T) { test(t, c.start(t)) })
	}
}

// slowedDown makes an attempt right after another one of the same address, and returns its answer.
// It tries again, less often than an address is free to, where the machine is so slow that the
// second between free attempts passes in the middle.
func slowedDown(t *testing.T, o operation, attempt func() answer) (a answer) {
	t.Helper()
	for range free - 1 {
		send(t, "GET "+o.url, "a guess of a token before another", "")
		if a = attempt(); a.status == http.StatusTooManyRequests {
			break
		}
	}
	return a
}

// TestGuessing_forms_areNoTokens sends what is not a valid bearer token, and tokens where none
// are expected.
func TestGuessing_forms_areNoTokens(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		o, good := protected(t, at), p.tokens[httpapi.Admin]
		for _, field := range []string{
			"Authorization: Basic YWRtaW46YWRtaW4=", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: bearer null",
			"Authorization: " + good, "Authorization: Token " + good, "Authorization: Digest username=admin",
			"Authorization: Negotiate AAAA", "Cookie: token=" + good, "X-Api-Key: " + good, "Cookie: enablers-session-" + p.name + "=" + good,
			"Cookie: enablers-session-" + p.name + "=", "Proxy-Authorization: Bearer " + good,
		} {
			a := send(t, "GET "+o.url, "", "", field)
			require.Equal(t, http.StatusUnauthorized, a.status, field)
		}
		for _, query := range []string{"?access_token=" + good, "?token=" + good, "?apikey=" + good} {
			require.Equal(t, http.StatusUnauthorized, send(t, "GET "+o.url+query, "", "").status, "a token in an address would be in logs")
		}
	})
}

// TestGuessing_defaultTokens_doNotExist tries what people choose.
func TestGuessing_defaultTokens_doNotExist(t *testing.T) {
	eachCommand(t, func(t *testing.T, p *process) {
		for name, at := range p.at {
			if outsideTheDoor[name] {
				continue
			}
			o := protected(t, at)
			for _, guess := range []string{"admin", "password", "token", "secret", "changeme", "enablers", p.name, "generated"} {
				require.Equal(t, http.StatusUnauthorized, sendFrom(t, anotherAddress(), "GET "+o.url, guess, "").status, guess)
			}
		}
	})
}

// TestTokens_replacedInTheFile_endAtOnce replaces the tokens of a server that runs. Sessions of
// browsers that signed in with the old ones end too.
func TestTokens_replacedInTheFile_endAtOnce(t *testing.T) {
	eachCommand(t, func(t *testing.T, p *process) {
		at := p.anyListener()
		o, old := protected(t, at), p.tokens[httpapi.Admin]
		cookie := signIn(t, at, old)
		require.Equal(t, http.StatusOK, send(t, "GET "+o.url, "", "", "Cookie: "+cookie).status)
		require.NoError(t, os.Remove(p.tokenFile()))
		p.writeTokens(t)
		require.Eventually(t, func() bool {
			return send(t, "GET "+o.url, old, "").status == http.StatusUnauthorized
		}, patience, 200*time.Millisecond)
		require.Equal(t, http.StatusOK, send(t, "GET "+o.url, p.tokens[httpapi.Admin], "").status)
		require.Equal(t, http.StatusUnauthorized, send(t, "GET "+o.url, "", "", "Cookie: "+cookie).status)
	})
}

// anyListener returns the first listener that the door protects.
func (p *process) anyListener() string {
	for _, name := range p.listeners {
		if !outsideTheDoor[name] {
			return p.at[name]
		}
	}
	return ""
}
