package attack_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issuer is an OpenID Connect issuer whose tokens a server accepts.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{publicKey(key, "one")}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// publicKey returns a key as a JSON Web Key.
func publicKey(key *rsa.PrivateKey, id string) map[string]any {
	return map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": id, "n": encoded(key.N.Bytes()),
		"e": encoded(big.NewInt(int64(key.E)).Bytes()),
	}
}

func encoded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// claims are those of a token that is good for an administrator.
func (i *issuer) claims() map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": i.URL, "aud": "models", "sub": "caller", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"realm_access": map[string]any{"roles": []string{"admin"}},
	}
}

// head is that of a good token.
func head() map[string]any { return map[string]any{"alg": "RS256", "typ": "JWT", "kid": "one"} }

// signer signs what is before the last dot.
type signer func(signed string) []byte

func rs256(t *testing.T, key *rsa.PrivateKey) signer {
	return func(signed string) []byte {
		sum := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		require.NoError(t, err)
		return signature
	}
}

func hs256(secret []byte) signer {
	return func(signed string) []byte {
		sum := hmac.New(sha256.New, secret)
		_, _ = io.WriteString(sum, signed) // never fails
		return sum.Sum(nil)
	}
}

// token returns a JSON Web Token (RFC 7519).
func token(t *testing.T, head, claims map[string]any, sign signer) string {
	t.Helper()
	first, err := json.Marshal(head)
	require.NoError(t, err)
	second, err := json.Marshal(claims)
	require.NoError(t, err)
	signed := encoded(first) + "." + encoded(second)
	return signed + "." + encoded(sign(signed))
}

// with returns the members with another one.
func with(members map[string]any, name string, value any) map[string]any {
	members = maps.Clone(members)
	if members[name] = value; value == nil {
		delete(members, name)
	}
	return members
}

// TestIssuer_forgedTokens_areRefused shows every server tokens that its issuer has not made, or not
// for it.
func TestIssuer_forgedTokens_areRefused(t *testing.T) {
	everyCommand(t, func(t *testing.T, c command) {
		i := newIssuer(t)
		p := c.start(t, "-access", "oidc", "-access-issuer", i.URL, "-access-audience", "models")
		other, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		public, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
		require.NoError(t, err)
		sealed := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
		good, ours := i.claims(), rs256(t, i.key)
		foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			t.Errorf("the server follows a token to %s", r.URL)
		}))
		t.Cleanup(foreign.Close)
		valid := token(t, head(), good, ours)
		parts := strings.Split(valid, ".")
		forged := map[string]string{
			"no signature":            parts[0] + "." + parts[1] + ".",
			"alg none":                token(t, with(head(), "alg", "none"), good, func(string) []byte { return nil }),
			"alg None":                token(t, with(head(), "alg", "None"), good, func(string) []byte { return nil }),
			"alg missing":             token(t, with(head(), "alg", nil), good, ours),
			"HS256 with the key, PEM": token(t, with(head(), "alg", "HS256"), good, hs256(sealed)),
			"HS256 with the key, DER": token(t, with(head(), "alg", "HS256"), good, hs256(public)),
			"HS256 with the modulus":  token(t, with(head(), "alg", "HS256"), good, hs256(i.key.N.Bytes())),
			"HS256 with nothing":      token(t, with(head(), "alg", "HS256"), good, hs256(nil)),
			"another key":             token(t, head(), good, rs256(t, other)),
			"a key in the token":      token(t, with(head(), "jwk", publicKey(other, "one")), good, rs256(t, other)),
			"a key of an address":     token(t, with(head(), "jku", foreign.URL), good, rs256(t, other)),
			"a certificate's address": token(t, with(head(), "x5u", foreign.URL), good, rs256(t, other)),
			"a key of a file":         token(t, with(head(), "kid", "../../../../dev/null"), good, hs256(nil)),
			"another audience":        token(t, head(), with(good, "aud", "somewhere else"), ours),
			"no audience":             token(t, head(), with(good, "aud", nil), ours),
			"another issuer":          token(t, head(), with(good, "iss", foreign.URL), ours),
			"no issuer":               token(t, head(), with(good, "iss", nil), ours),
			"expired":                 token(t, head(), with(good, "exp", time.Now().Add(-time.Hour).Unix()), ours),
			"no end":                  token(t, head(), with(good, "exp", nil), ours),
			"not yet":                 token(t, head(), with(good, "nbf", time.Now().Add(time.Hour).Unix()), ours),
			"a critical extension":    token(t, with(head(), "crit", []string{"x"}), good, ours),
			"changed claims":          parts[0] + "." + encoded([]byte(`{"aud":"models","exp":99999999999}`)) + "." + parts[2],
			"two dots more":           valid + "..",
			"words":                   "not a token of any kind",
			"a long one":              strings.Repeat("x", 32<<10),
		}
		at := p.anyListener()
		o := protected(t, at)
		a := send(t, "GET "+o.url, valid, "")
		require.Equal(t, http.StatusOK, a.status, "%s\n%s", a.body, p.Output())
		for name, one := range forged {
			a := sendFrom(t, anotherAddress(), "GET "+o.url, one, "")
			require.Equal(t, http.StatusUnauthorized, a.status, "%s: %s", name, a.body)
			require.NotContains(t, a.body, i.URL)
		}
		for _, roles := range []any{
			nil, []string{"Admin", "administrator", "admin "}, "reader-of-something", 1, map[string]any{"admin": true},
		} {
			weak := token(t, head(), with(good, "realm_access", map[string]any{"roles": roles}), ours)
			a := sendFrom(t, anotherAddress(), "GET "+o.url, weak, "")
			require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, a.status, "%v", roles)
		}
	})
}

// TestIssuer_hostileAnswers_takeNothingDown has an issuer that hangs, answers without end, and sends
// the server elsewhere: callers get a 503, and the server goes on.
func TestIssuer_hostileAnswers_takeNothingDown(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the server follows its issuer to %s", r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	ended := make(chan struct{})
	hostile := map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		},
		"answers without end": func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, `{"issuer":"`)
			for piece := []byte(strings.Repeat("x", 1<<20)); err == nil; {
				_, err = w.Write(piece)
			}
		},
		"leads elsewhere":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"answers nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("[", 1<<20)) },
	}
	good := newIssuer(t)
	for _, c := range commands() {
		for name, handler := range hostile {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				i := httptest.NewServer(handler)
				t.Cleanup(i.Close) // after the process has ended
				p := c.start(t, "-access", "oidc", "-access-issuer", i.URL, "-access-audience", "models")
				at := p.anyListener()
				o := protected(t, at)
				one := token(t, head(), with(good.claims(), "iss", i.URL), rs256(t, good.key))
				a := send(t, "GET "+o.url, one, "")
				require.Contains(t, []int{http.StatusServiceUnavailable, http.StatusUnauthorized}, a.status, a.body)
				require.NotContains(t, a.body, "127.0.0.1", "the answer tells nothing of the network")
				require.Equal(t, http.StatusOK, send(t, "GET "+at+"/healthz", "", "").status)
				require.Equal(t, http.StatusUnauthorized, send(t, "GET "+o.url, "", "").status)
			})
		}
	}
	t.Cleanup(func() { close(ended) })
}
