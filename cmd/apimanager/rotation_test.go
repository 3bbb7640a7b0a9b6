package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun_rotatesTheClientSecretWithoutUploads(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "from "+r.URL.Path)
	}))
	defer upstream.Close()
	const reference = "{vault://env/apimanager-client-secret}"
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_CLIENT_SECRET", "client secret for tests")
	dir, portal := t.TempDir(), newFront(t)
	p := portal.start(t, "-data", dir)
	token := p.token(t, "demodeveloper", "password for tests")
	referring := strings.ReplaceAll(definitionOf(upstream.URL, p.idp), "client secret for tests", reference)
	copying := strings.NewReplacer("/open", "/copied/open", "/secured", "/copied/secured").Replace(definitionOf(upstream.URL, p.idp))
	copying = strings.ReplaceAll(copying, "/copied/openid", "/openid") // the discovery document
	status, body := p.publish(t, token, "other", strings.ReplaceAll(referring, reference, "{vault://env/apimanager-admin-token}"))
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "config.client_secret")
	for enabler, file := range map[string]string{"referring": referring, "copying": copying} {
		status, body = p.publish(t, token, enabler, file)
		require.Equal(t, http.StatusOK, status, body)
	}
	get := func(gateway, path, want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, body = ask(t, http.MethodGet, gateway+path, token, "", nil)
			return strings.Contains(body, want)
		}, patience, 20*time.Millisecond, want)
	}
	get(p.gateway, "/secured", "from /secured")
	get(p.gateway, "/copied/secured", "from /copied/secured")
	require.NoError(t, p.Stop())

	t.Setenv("APIMANAGER_CLIENT_SECRET", "another client secret")
	p = portal.start(t, "-data", dir)
	token = p.token(t, "demodeveloper", "password for tests")
	get(p.gateway, "/secured", "from /secured")
	get(p.gateway, "/copied/secured", "the identity provider refuses the credentials of the gateway's client")
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "")
	with := startDataPlane(t, t.TempDir(), p.admin, "-idp", p.idp)
	get(with.gateway, "/secured", "from /secured")
	require.NoError(t, with.Stop())
	t.Setenv("APIMANAGER_CLIENT_SECRET", "")
	without := startDataPlane(t, t.TempDir(), p.admin)
	get(without.gateway, "/secured", "tokens cannot be checked")
	get(without.gateway, "/open", "from /open")
	require.Contains(t, without.Log.String(), "config.client_secret")
	require.NoError(t, without.Stop())
	require.NoError(t, p.Stop())
	for _, log := range []string{p.Log.String(), with.Log.String(), without.Log.String()} {
		require.NotContains(t, log, "client secret")
	}
}
