package oidc_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// asClient is a configuration with credentials that have to be escaped.
func asClient(auth string) func(*oidc.Config) {
	return func(c *oidc.Config) {
		c.ClientID, c.ClientSecret, c.ClientAuth, c.IntrospectionTTL = "kong", "s:e%cret", auth, -1
	}
}

func TestVerifier_introspect_authenticatesTheClient(t *testing.T) {
	issuer := newFakeIssuer(t, edKey(t, "k"))
	for _, auth := range []string{"", oidc.SecretBasic, oidc.SecretPost} {
		issuer.introspect = func(w http.ResponseWriter, r *http.Request) {
			id, secret := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
			if name, password, ok := r.BasicAuth(); ok {
				id, _ = url.QueryUnescape(name)
				secret, _ = url.QueryUnescape(password)
			}
			_, _, basic := r.BasicAuth()
			if id != "kong" || secret != "s:e%cret" || r.PostFormValue("token") != "opaque" || basic == (auth == oidc.SecretPost) {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{"active":true,"client_id":"portal","username":"x","scope":"a b","exp":9999999999}`))
		}
		claims, err := issuer.verifier(t, asClient(auth)).Introspect(t.Context(), "opaque")
		require.NoError(t, err, auth)
		require.Equal(t, "portal", claims.AuthorizedParty)
		require.True(t, claims.HasScope("b"))
	}
}

func TestVerifier_introspect_distinguishesAnswers(t *testing.T) {
	issuer := newFakeIssuer(t, edKey(t, "k"))
	v := issuer.verifier(t, func(c *oidc.Config) {
		asClient("")(c)
		c.AuthorizedParties = []string{"portal"}
	})
	for name, test := range map[string]struct {
		status int
		answer string
		want   error
	}{
		"inactive":     {200, `{"active":false}`, oidc.ErrInactive},
		"expired":      {200, `{"active":true,"azp":"portal","exp":5}`, oidc.ErrExpired},
		"other party":  {200, `{"active":true,"azp":"evil"}`, oidc.ErrAudience},
		"other issuer": {200, `{"active":true,"azp":"portal","iss":"https://evil.example"}`, oidc.ErrIssuer},
		"refresh":      {200, `{"active":true,"azp":"portal","typ":"Refresh"}`, oidc.ErrType},
		"no active":    {200, `{"azp":"portal"}`, oidc.ErrUnreachable},
		"no JSON":      {200, `active`, oidc.ErrUnreachable},
		"in trouble":   {502, `{"error":"x"}`, oidc.ErrUnreachable},
		"no client":    {401, `{"error":"invalid_request","error_description":"Authentication failed."}`, oidc.ErrClient},
		"no such":      {400, `{"error":"invalid_client"}`, oidc.ErrClient},
		"no text":      {401, ``, oidc.ErrClient},
	} {
		issuer.introspect = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.answer))
		}
		claims, err := v.Introspect(t.Context(), "token of "+name)
		require.ErrorIs(t, err, test.want, name)
		require.Nil(t, claims)
		require.NotContains(t, err.Error(), "token of")
		require.Equal(t, test.want == oidc.ErrUnreachable, errors.Is(err, oidc.ErrUnreachable), name)
		if test.want == oidc.ErrClient {
			require.ErrorContains(t, err, `client "kong"`)
			require.ErrorContains(t, err, "/introspect")
			require.NotContains(t, err.Error(), "s:e%cret")
		}
	}
	issuer.introspect = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client", "error_description": strings.Repeat("no ", 1000)})
	}
	_, err := v.Introspect(t.Context(), "x")
	var refusal *oidc.Refusal
	require.ErrorAs(t, err, &refusal, "the gateway's own credentials are wrong, and no token is at fault")
	require.Equal(t, "invalid_client", refusal.Code)
	require.Equal(t, 401, refusal.Status)
	require.Less(t, len(err.Error()), 500)
	_, err = v.Introspect(t.Context(), "")
	require.ErrorIs(t, err, oidc.ErrMissing)
	_, err = issuer.verifier(t, nil).Introspect(t.Context(), "x")
	require.ErrorContains(t, err, "Config.ClientID")
}

func TestVerifier_introspect_cachesAnswersForTheirTime(t *testing.T) {
	var active atomic.Bool
	var asked atomic.Int32
	active.Store(true)
	synctest.Test(t, func(t *testing.T) {
		v := newInsideIntrospector(t, func(*http.Request) (int, string) {
			asked.Add(1)
			time.Sleep(10 * time.Millisecond)
			if active.Load() {
				return 200, `{"active":true}`
			}
			return 200, `{"active":false}`
		})
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				if _, err := v.Introspect(t.Context(), "token"); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, asked.Load(), "the same token is asked for once")
		active.Store(false)
		_, err := v.Introspect(t.Context(), "token")
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = v.Introspect(t.Context(), "token")
		require.ErrorIs(t, err, oidc.ErrInactive)
		require.EqualValues(t, 2, asked.Load())
	})
}

func TestVerifier_introspect_retriesADeadIssuerAfterAPause(t *testing.T) {
	var asked atomic.Int32
	var dead atomic.Bool
	dead.Store(true)
	synctest.Test(t, func(t *testing.T) {
		v := newInsideIntrospector(t, func(*http.Request) (int, string) {
			asked.Add(1)
			if dead.Load() {
				time.Sleep(3 * time.Second)
				return 503, ""
			}
			return 200, `{"active":true}`
		})
		for range 5 {
			_, err := v.Introspect(t.Context(), "token")
			require.ErrorIs(t, err, oidc.ErrUnreachable)
		}
		require.EqualValues(t, 5, asked.Load())
		before := time.Now()
		for range 1000 {
			_, err := v.Introspect(t.Context(), "token")
			require.ErrorIs(t, err, oidc.ErrUnreachable)
		}
		require.EqualValues(t, 5, asked.Load())
		require.Zero(t, time.Since(before), "no caller waited")
		for range 600 { // a minute and more
			_, err := v.Introspect(t.Context(), "token")
			require.ErrorIs(t, err, oidc.ErrUnreachable)
			time.Sleep(100 * time.Millisecond)
		}
		require.LessOrEqual(t, asked.Load(), int32(15))
		require.GreaterOrEqual(t, asked.Load(), int32(9))
		dead.Store(false)
		time.Sleep(10 * time.Second)
		_, err := v.Introspect(t.Context(), "token")
		require.NoError(t, err)
		_, err = v.Introspect(t.Context(), "other")
		require.NoError(t, err)
	})
}

// newInsideIntrospector returns a Verifier of an issuer without a network.
func newInsideIntrospector(t *testing.T, answer func(*http.Request) (int, string)) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(oidc.Config{
		Issuer: insideName, Endpoints: oidc.Endpoints{Introspection: insideName + "/introspect"},
		ClientID: "kong", ClientSecret: "secret", HTTPClient: &http.Client{Transport: answering(answer)},
	})
	require.NoError(t, err)
	return v
}
