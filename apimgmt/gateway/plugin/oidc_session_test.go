package plugin

import (
	"context"
	"encoding/base64"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

func TestOIDC_session_endsWithItsTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for name, c := range map[string]struct {
		tokens oidc.Tokens
		before *session
		want   time.Duration
	}{
		"no refresh token": {oidc.Tokens{Access: "a", Expires: at(time.Minute)}, nil, time.Minute},
		"a refresh token": {oidc.Tokens{Access: "a", Refresh: "r", Expires: at(time.Minute),
			RefreshExpires: at(30 * time.Minute)}, nil, 30 * time.Minute},
		"for an unknown time": {oidc.Tokens{Access: "a", Refresh: "r", Expires: at(time.Minute)}, nil, sessionIdle},
		"for ever":            {oidc.Tokens{Access: "a", Refresh: "r", RefreshExpires: at(1000 * time.Hour)}, nil, sessionLong},
		"after a long time": {oidc.Tokens{Access: "a", Refresh: "r"},
			&session{Begun: now.Add(-sessionLong + time.Minute).Unix(), ID: "i"}, time.Minute},
	} {
		s := newSession(&c.tokens, c.before, now)
		require.EqualValues(t, c.want/time.Second, s.Until-now.Unix(), name)
		if c.before != nil {
			require.Equal(t, c.before.ID, s.ID, "a renewal without an ID token keeps the old one")
		}
	}
}

func TestOIDC_session_hasTheClaimsOfItsIDToken(t *testing.T) {
	s := &session{ID: "h." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"i","sub":"s","preferred_username":"ada"}`)) + ".s"}
	claims, err := s.claims()
	require.NoError(t, err)
	require.Equal(t, []string{"i", "s", "ada"}, []string{claims.Issuer, claims.Subject, claims.Username})
	for _, broken := range []string{"", "a", "a.b", "a.!.c"} {
		_, err := (&session{ID: broken}).claims()
		require.ErrorIs(t, err, oidc.ErrMalformed, broken)
	}
}

func TestRenewals_shareOneRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		call := func(_ context.Context, refresh string) (*oidc.Tokens, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			if refresh == "down" {
				return nil, oidc.ErrUnreachable
			}
			return &oidc.Tokens{Access: refresh}, nil
		}
		var r renewals
		leaving, leave := context.WithCancel(t.Context())
		for range 5 {
			go func() {
				_, err := r.do(leaving, "one", call)
				if !errors.Is(err, context.Canceled) {
					t.Error("it has to return when its client leaves")
				}
			}()
		}
		synctest.Wait()
		leave()
		tokens, err := r.do(t.Context(), "one", call)
		require.NoError(t, err)
		require.Equal(t, "one", tokens.Access, "it goes on when those who began it leave")
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(renewalTime + time.Second)
		_, err = r.do(t.Context(), "one", call)
		require.NoError(t, err)
		require.EqualValues(t, 2, calls.Load())

		for range 2 {
			_, err = r.do(t.Context(), "down", call)
			require.ErrorIs(t, err, oidc.ErrUnreachable)
			time.Sleep(time.Millisecond)
		}
		require.EqualValues(t, 4, calls.Load(), "an issuer that was down is asked again")
		r.close()
		_, err = r.do(t.Context(), "two", call)
		require.ErrorIs(t, err, errBusy)
	})
}

func TestRenewals_areBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renewals{known: map[[32]byte]*renewal{}}
		for i := range mostRenewals {
			r.known[[32]byte{byte(i), byte(i >> 8)}] = &renewal{until: time.Now().Add(renewalTime)}
		}
		call := func(context.Context, string) (*oidc.Tokens, error) { return &oidc.Tokens{}, nil }
		_, err := r.do(t.Context(), "one", call)
		require.ErrorIs(t, err, errBusy)
		time.Sleep(renewalTime + time.Second)
		_, err = r.do(t.Context(), "one", call)
		require.NoError(t, err)
		require.Len(t, r.known, 1)
	})
}
