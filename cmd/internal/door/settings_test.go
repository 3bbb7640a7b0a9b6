package door_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/server"
)

// parse reads the flags and checks them.
func parse(t *testing.T, args ...string) (*door.Settings, error) {
	t.Helper()
	f := server.NewFlags("doortest", "DOORTEST", "")
	s := door.Declare(f)
	require.NoError(t, f.Parse(args))
	return s, s.Check()
}

func TestSettings_Check_namesTheFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-access", "magic"}, `-access: "magic" is not an authentication method: must be none, token, oidc or mtls`},
		{[]string{"-access", "none,token"}, "-access: none cannot be combined"},
		{[]string{"-access", "none", "-access-tokens", "x"}, "-access none: cannot be given together with -access-tokens"},
		{[]string{"-access", "token", "-access-issuer", "https://x", "-access-audience", "y"},
			"-access-issuer: is set, but -access token lacks oidc"},
		{[]string{"-access", "oidc"}, "-access oidc: needs -access-issuer and -access-audience"},
		{[]string{"-access-issuer", "https://x"}, "-access oidc: needs -access-issuer and -access-audience"},
		{[]string{"-access", "mtls"}, "-access mtls: needs -tls-client-ca"},
		{[]string{"-access-role-claim", "a..b"}, "-access-role-claim:"},
		{[]string{"-tls-cert", "x"}, "-tls-cert, -tls-key: one needs the other"},
		{[]string{"-tls-client-ca", "x"}, "-tls-client-ca: needs -tls-cert"},
	} {
		_, err := parse(t, c.args...)
		require.ErrorContains(t, err, c.want)
	}
}

func TestSettings_NeedsToken_untilAnotherWayIsChosen(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"-access", "token"}, true},
		{[]string{"-access", "token,mtls", "-tls-client-ca", "x", "-tls-cert", "x", "-tls-key", "x"}, true},
		{[]string{"-access", "none"}, false},
		{[]string{"-access-tokens", "x"}, false},
		{[]string{"-access-issuer", "https://x", "-access-audience", "y"}, false},
		{[]string{"-tls-client-ca", "x", "-tls-cert", "x", "-tls-key", "x"}, false},
	} {
		s, err := parse(t, c.args...)
		require.NoError(t, err)
		require.Equal(t, c.want, s.NeedsToken(), c.args)
	}
}

func TestSettings_SetClientCA_refusesTwoFiles(t *testing.T) {
	s, err := parse(t, "-tls-cert", "x", "-tls-key", "x", "-tls-client-ca", "one")
	require.NoError(t, err)
	require.NoError(t, s.SetClientCA("one"))
	require.ErrorContains(t, s.SetClientCA("another"), "another file")
}
