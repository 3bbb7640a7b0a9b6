package door_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/storage"
)

// open opens a door for a listener on the address.
func open(t *testing.T, address string, config door.Config, args ...string) (*door.Door, net.Listener) {
	t.Helper()
	s, err := parse(t, args...)
	require.NoError(t, err)
	listener, err := net.Listen("tcp4", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	config.Name, config.Listeners = "doortest", []net.Listener{listener}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := s.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, listener
}

// asked returns what the door says to a token.
func asked(d *door.Door, token, role string) error {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return d.Authorize(r, role)
}

func TestSettings_Open_opensOnLoopbackAlone(t *testing.T) {
	d, _ := open(t, "127.0.0.1:0", door.Config{Dir: t.TempDir()})
	require.True(t, d.IsOpen())
	require.Nil(t, d.Authorizer())
	require.NoError(t, asked(d, "", "admin"))
	d, at := open(t, "0.0.0.0:0", door.Config{})
	require.False(t, d.IsOpen())
	require.Error(t, asked(d, "", "reader"))
	require.NoError(t, asked(d, d.Fresh, "admin"))
	var out bytes.Buffer
	d.Announce(&out, at)
	require.Contains(t, out.String(), "a new access token is valid until the server ends: "+d.Fresh)
}

func TestDoor_Part_readsWhatIsInFilesAndNamesNothingElse(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own := authority.Issue("own")
	secure := []string{"-tls-cert", own.Cert, "-tls-key", own.Key}
	for want, c := range map[string]struct {
		config door.Config
		args   []string
	}{
		"certificate":            {door.Config{}, secure},
		"tokens":                 {door.Config{Dir: t.TempDir()}, []string{"-access", "token"}},
		"certificate and tokens": {door.Config{Dir: t.TempDir()}, append(secure, "-access", "token")},
	} {
		d, _ := open(t, "127.0.0.1:0", c.config, c.args...)
		require.Equal(t, want, d.Part().Name)
		require.NoError(t, d.Part().Reload(t.Context()))
	}
	inStore := door.Config{Dir: t.TempDir(), Sessions: storage.NewMemoryDocuments(), Shared: true}
	for _, config := range []door.Config{inStore, {}} {
		d, _ := open(t, "127.0.0.1:0", config, "-access", "token")
		require.Nil(t, d.Part().Reload)
	}
}

func TestDoor_Part_replacesTheGeneratedToken(t *testing.T) {
	d, _ := open(t, "127.0.0.1:0", door.Config{Dir: t.TempDir()}, "-access", "token")
	require.NoError(t, asked(d, d.Fresh, "admin"))
	require.NoError(t, os.WriteFile(d.File, []byte("another token of 16 characters\n"), 0o600))
	require.NoError(t, d.Part().Reload(t.Context()))
	require.Error(t, asked(d, d.Fresh, "reader"), "who has the old one is not let in")
	require.NoError(t, asked(d, "another token of 16 characters", "admin"))
	require.NoError(t, os.WriteFile(d.File, []byte("hush\n"), 0o600))
	require.ErrorContains(t, d.Part().Reload(t.Context()), "can be guessed")
	require.NoError(t, os.Remove(d.File))
	require.ErrorIs(t, d.Part().Reload(t.Context()), os.ErrNotExist)
	require.NoFileExists(t, d.File, "only a start generates one")
	require.NoError(t, asked(d, "another token of 16 characters", "admin"), "that from before holds")
}

func TestSettings_Open_refusesAStoredTokenThatCanBeGuessed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, door.TokenFile), []byte("hush\n"), 0o600))
	s, err := parse(t, "-access", "token")
	require.NoError(t, err)
	_, err = s.Open(t.Context(), door.Config{Name: "doortest", Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "has 4 characters, and can be guessed")
	require.ErrorContains(t, err, "remove the file")
}

func TestSettings_Open_generatesNoTokenBesidesAGivenOne(t *testing.T) {
	given := access.NewToken(access.Identity{Name: "token", Role: httpapi.Admin}, "sixteen or more characters")
	for _, args := range [][]string{nil, {"-access", "token"}} {
		d, _ := open(t, "127.0.0.1:0", door.Config{Dir: t.TempDir(), Tokens: []*access.TokenFile{given}}, args...)
		require.Empty(t, d.Fresh)
		require.Error(t, asked(d, "", "reader"))
		require.NoError(t, asked(d, "sixteen or more characters", "admin"))
		require.NoError(t, asked(d, d.Self(), "admin"))
	}
}

func TestDoor_Handler_saysWhereTokensAreToBeFound(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own := authority.Issue("own")
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("ada reader ada-has-this-token"), 0o600))
	given := door.Config{TokensAt: "the one of the test",
		Tokens: []*access.TokenFile{access.NewToken(access.Identity{Name: "token"}, "sixteen or more characters")}}
	mtls := []string{"-tls-cert", own.Cert, "-tls-key", own.Key, "-tls-client-ca", authority.File}
	oidc := []string{"-access-issuer", "https://issuer.example", "-access-audience", "things"}
	for want, one := range map[string]struct {
		config door.Config
		args   []string
	}{
		"The one in the file access-token of the data folder.": {door.Config{Dir: t.TempDir()}, []string{"-access", "token"}},
		"The one that the server printed when it started.":     {door.Config{}, []string{"-access", "token"}},
		"One of those in the file that -access-tokens names.":  {door.Config{}, []string{"-access-tokens", file}},
		"An access token of the issuer https://issuer.example": {door.Config{}, oidc},
		"The one of the test, or one of those in the file":     {given, []string{"-access-tokens", file}},
		"by a client certificate":                              {door.Config{}, mtls},
	} {
		d, _ := open(t, "127.0.0.1:0", one.config, one.args...)
		w := httptest.NewRecorder()
		d.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.enablers/sign-in", nil))
		require.Contains(t, w.Body.String(), want)
		require.Equal(t, want != "by a client certificate", strings.Contains(w.Body.String(), `name="token"`), want)
	}
}

func TestDoor_Client_trustsItsOwnCertificateAlone(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own, other := authority.Issue("own"), authority.Issue("other")
	serve := func(certificate *servertest.Certificate) (*door.Door, string) {
		d, listener := open(t, "127.0.0.1:0", door.Config{}, "-tls-cert", certificate.Cert, "-tls-key", certificate.Key)
		go func() { _ = http.Serve(d.Listener(listener), http.NotFoundHandler()) }() // ends with the listener
		require.Equal(t, "https://"+listener.Addr().String(), d.URL(listener))
		return d, d.URL(listener)
	}
	d, mine := serve(own)
	_, foreign := serve(other)
	client := d.Client()
	t.Cleanup(client.CloseIdleConnections)
	answer, err := client.Get(mine)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	answer, err = client.Get(foreign)
	if err == nil {
		_ = answer.Body.Close()
	}
	require.ErrorContains(t, err, "the certificate is not that of this process")
}
