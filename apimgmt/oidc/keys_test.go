package oidc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// inside is an issuer without a network, for tests with a clock of their own.
type inside struct {
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	header  string // Cache-Control
	down    bool
	fetches int
	delay   time.Duration
}

const insideName = "https://idm.example/auth/realms/OpenAPI"

func (i *inside) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(i.delay)
	i.mu.Lock()
	defer i.mu.Unlock()
	var document any = map[string]string{"issuer": insideName, "jwks_uri": insideName + "/certs"}
	if strings.HasSuffix(r.URL.Path, "/certs") {
		i.fetches++
		var set jose.JSONWebKeySet
		for _, k := range i.keys {
			set.Keys = append(set.Keys, k.Public())
		}
		document = set
	}
	if i.down {
		return nil, errors.New("no route to host")
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set("Cache-Control", i.header)
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(text))}, nil
}

// answering is a network with one kind of answer.
type answering func(*http.Request) (status int, body string)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a(r)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (i *inside) set(down bool, keys ...jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down, i.keys = down, keys
}

func (i *inside) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *inside) verifier(t *testing.T, change func(*oidc.Config)) *oidc.Verifier {
	t.Helper()
	c := oidc.Config{Issuer: insideName, HTTPClient: &http.Client{Transport: i}}
	if change != nil {
		change(&c)
	}
	v, err := oidc.New(c)
	require.NoError(t, err)
	return v
}

func (i *inside) token(t *testing.T, k jose.JSONWebKey, number int) string {
	t.Helper()
	return sign(t, k, "EdDSA", map[string]any{"iss": insideName, "exp": time.Now().Add(48 * time.Hour).Unix(), "jti": fmt.Sprint(number)})
}

func TestVerifier_findsARotatedKey(t *testing.T) {
	first, second := edKey(t, "1"), edKey(t, "2")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{keys: []jose.JSONWebKey{first}}
		v := i.verifier(t, nil)
		old := i.token(t, first, 1)
		_, err := v.Verify(t.Context(), old)
		require.NoError(t, err)
		i.set(false, second)
		time.Sleep(10 * time.Second)
		_, err = v.Verify(t.Context(), i.token(t, second, 2))
		require.NoError(t, err)
		require.Equal(t, 2, i.fetched())
		_, err = v.Verify(t.Context(), old)
		require.ErrorIs(t, err, oidc.ErrUnknownKey, "it was remembered as verified by a key that is gone")
	})
}

func TestVerifier_limitsFetchesForUnknownKeys(t *testing.T) {
	k, strange := edKey(t, "1"), edKey(t, "2")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{keys: []jose.JSONWebKey{k}, delay: time.Millisecond}
		v := i.verifier(t, func(c *oidc.Config) { c.KeysRetry = 10 * time.Second })
		for range 100 { // 100 s
			var wait sync.WaitGroup
			for n := range 20 {
				token := i.token(t, strange, n)
				wait.Go(func() {
					if _, err := v.Verify(t.Context(), token); !errors.Is(err, oidc.ErrUnknownKey) {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, i.fetched(), 11)
		require.GreaterOrEqual(t, i.fetched(), 9, "a key may come later, so it is looked for again")
	})
}

func TestVerifier_keepsKeysForTheirLifetime(t *testing.T) {
	k := edKey(t, "1")
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{
			"": 10 * time.Minute, "no-cache": 10 * time.Minute, "public, max-age=7200": 2 * time.Hour,
			"max-age=1": time.Minute, "max-age=99999999": 24 * time.Hour, "max-age=x": 10 * time.Minute,
		} {
			i := &inside{keys: []jose.JSONWebKey{k}, header: header}
			v := i.verifier(t, nil)
			_, err := v.Verify(t.Context(), i.token(t, k, 1))
			require.NoError(t, err)
			time.Sleep(want - time.Second)
			_, err = v.Verify(t.Context(), i.token(t, k, 2))
			require.NoError(t, err)
			require.Equal(t, 1, i.fetched(), header)
			time.Sleep(2 * time.Second)
			_, err = v.Verify(t.Context(), i.token(t, k, 3))
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, 2, i.fetched(), header)
		}
	})
}

func TestVerifier_usesKnownKeysWhileTheIssuerIsDown(t *testing.T) {
	k := edKey(t, "1")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{keys: []jose.JSONWebKey{k}, delay: 4 * time.Second}
		v := i.verifier(t, nil)
		_, err := v.Verify(t.Context(), i.token(t, k, 0))
		require.NoError(t, err)
		i.set(true, k)
		begun := time.Now()
		for n := range 60 { // an hour
			time.Sleep(time.Minute)
			before := time.Now()
			_, err := v.Verify(t.Context(), i.token(t, k, n))
			require.NoError(t, err, "after %s", time.Since(begun))
			require.Zero(t, time.Since(before), "no caller waits for an issuer that is down")
			synctest.Wait()
		}
		time.Sleep(11 * time.Minute) // keys were good for 10 minutes, and for an hour after that
		_, err = v.Verify(t.Context(), i.token(t, k, 99))
		require.ErrorIs(t, err, oidc.ErrUnreachable)
		i.set(false, k)
		time.Sleep(time.Minute)
		_, err = v.Verify(t.Context(), i.token(t, k, 99))
		require.NoError(t, err, "it is back")
		require.NoError(t, v.Close())
	})
}

func TestVerifier_retriesAnAbsentIssuerAtGrowingIntervals(t *testing.T) {
	k := edKey(t, "1")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{down: true}
		v := i.verifier(t, func(c *oidc.Config) { c.Endpoints.Keys = insideName + "/certs" })
		for n := range 600 { // a minute
			_, err := v.Verify(t.Context(), i.token(t, k, n))
			require.ErrorIs(t, err, oidc.ErrUnreachable)
			time.Sleep(100 * time.Millisecond)
		}
		require.LessOrEqual(t, i.fetched(), 12)
		require.GreaterOrEqual(t, i.fetched(), 8)
	})
}

func TestVerifier_Close_endsABackgroundFetch(t *testing.T) {
	k := edKey(t, "1")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{keys: []jose.JSONWebKey{k}, delay: time.Second}
		v := i.verifier(t, nil)
		_, err := v.Verify(t.Context(), i.token(t, k, 0))
		require.NoError(t, err)
		time.Sleep(11 * time.Minute)
		_, err = v.Verify(t.Context(), i.token(t, k, 1))
		require.NoError(t, err)
		require.NoError(t, v.Close())
		require.NoError(t, v.Close())
		fetched := i.fetched()
		time.Sleep(11 * time.Minute)
		_, err = v.Verify(t.Context(), i.token(t, k, 2))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, fetched, i.fetched())
	})
}
