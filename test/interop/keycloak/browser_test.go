package keycloak_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/keycloak/keycloaktest"
)

// browse has people sign in at Keycloak's own pages with Chromium: keycloak.js of
// test/browser does it. The realm is made for the portal while that runs already, as
// people do who set Keycloak up later.
func browse(t *testing.T, k *keycloaktest.Keycloak) {
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium-headless-shell"
		if _, err := os.Stat(chromium); err != nil {
			chromium = "/usr/bin/chromium"
		}
	}
	for _, needed := range []string{"node", "npm", chromium} {
		if _, err := exec.LookPath(needed); err != nil {
			require.False(t, peertest.Required(), "a browser is demanded by %s=1: %v", peertest.RequirePeers, err)
			t.Skipf("%s is not installed: %v", needed, err)
		}
	}
	process := interop.StartServer(t, interop.Build(t, "apimanager"), "-listen", "127.0.0.1:0", "-gateway-listen",
		"127.0.0.1:0", "-admin-listen", "127.0.0.1:0",
		"-data", t.TempDir(), "-idp", k.URL, "-realm", "Portal", "-log-level", "debug")
	process.AwaitLine("Sign in at " + process.URL)
	_, after, found := strings.Cut(strings.ReplaceAll(process.Output(), " (gateway)", "\x00"), "(portal)\nlistening on ")
	require.True(t, found, process.Output())
	gateway, _, found := strings.Cut(after, "\x00")
	require.True(t, found, process.Output())
	realm := k.SetUp("Portal", process.URL, gateway)

	trial := install(t)
	command := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", "keycloak.js")
	command.Dir = trial
	command.WaitDelay = 10 * time.Second
	command.Env = append(os.Environ(), "PORTAL="+process.URL, "GATEWAY="+gateway, "ISSUER="+realm.Issuer,
		"PASSWORD="+realm.Password,
		"GATEWAY_SECRET="+realm.GatewaySecret, "CHROMIUM="+chromium)
	said, err := command.CombinedOutput()
	t.Logf("%s", said)
	require.NoError(t, err)
	process.Stop()
	require.NotContains(t, process.Output(), realm.GatewaySecret, "a secret is in the log")
	require.NotContains(t, process.Output(), "eyJ", "a token is in the log")
}

// install returns a folder of the test with the trial and what it imports.
func install(t *testing.T) string {
	t.Helper()
	from, err := keycloaktest.Find("test/browser")
	require.NoError(t, err)
	to := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "stage.js", "keycloak.js"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), text, 0o600))
	}
	command := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts",
		"--prefer-offline", "--loglevel=error")
	command.Dir = to
	command.WaitDelay = time.Second
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return to
}
