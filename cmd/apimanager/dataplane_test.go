package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// startDataPlane runs a gateway that follows a manager.
func startDataPlane(t *testing.T, dir, manager string, args ...string) *process {
	t.Helper()
	args = append([]string{"-gateway-only", "-control-plane", manager, "-data", dir,
		"-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"}, args...)
	p := &process{Program: servertest.Start(t, run, args...)}
	p.gateway, p.admin = p.Listening("gateway"), p.Listening("admin")
	return p
}

func TestRun_gatewayOnly_followsAManagerAndServesWithoutIt(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sunny")) }))
	t.Cleanup(service.Close)
	manager := start(t, "-data", t.TempDir(), "-demo-password", "a password")
	dir := filepath.Join(t.TempDir(), "data plane")
	plane := startDataPlane(t, dir, manager.admin)
	require.Eventually(t, func() bool {
		status, _ := ask(t, http.MethodGet, plane.admin+"/readyz", "", "", nil)
		return status == http.StatusOK
	}, patience, 10*time.Millisecond)

	status, body := manager.publish(t, manager.token(t, "demodeveloper", "a password"), "weather",
		`{"openapi":"3.0.3","info":{"title":"Weather","version":"1"},"servers":[{"url":"`+service.URL+`"}],
		"paths":{"/weather":{"get":{"responses":{"200":{"description":"ok"}}}}}}`)
	require.Equal(t, http.StatusOK, status, body)
	require.Eventually(t, func() bool {
		_, body := ask(t, http.MethodGet, plane.gateway+"/weather", "", "", nil)
		return body == "sunny"
	}, patience, 10*time.Millisecond)
	_, metrics := ask(t, http.MethodGet, plane.admin+"/metrics", "", "", nil)
	require.Contains(t, metrics, "gateway_control_plane_up 1")
	require.Contains(t, metrics, "gateway_requests_total{")
	status, _ = ask(t, http.MethodGet, plane.admin+"/services", "", "", nil)
	require.Equal(t, http.StatusNotFound, status, "it is administered at the manager alone")

	old := manager.admin
	require.NoError(t, manager.Stop())
	require.NoError(t, plane.Stop())
	again := startDataPlane(t, dir, old)
	_, body = ask(t, http.MethodGet, again.gateway+"/weather", "", "", nil)
	require.Equal(t, "sunny", body, "a restart serves what was kept")
	require.Eventually(t, func() bool {
		status, body = ask(t, http.MethodGet, again.admin+"/readyz", "", "", nil)
		return status == http.StatusOK && strings.Contains(body, "the control plane does not answer")
	}, patience, 10*time.Millisecond)
	require.NoError(t, again.Stop())
}

func TestRun_gatewayOnly_verifiesTheManagerByItsAuthority(t *testing.T) {
	authority, other := servertest.NewAuthority(t), servertest.NewAuthority(t)
	of, own := authority.Issue("manager"), authority.Issue("gateway")
	trusted := http.DefaultClient
	t.Cleanup(func() { http.DefaultClient = trusted })
	http.DefaultClient = authority.Client()
	manager := start(t, "-data", t.TempDir(), "-tls-cert", of.Cert, "-tls-key", of.Key)
	up, down := "gateway_control_plane_up 1", "gateway_control_plane_up 0"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"its authority": {[]string{"-control-plane-ca", authority.File}, up},
		"its authority, with a certificate": {
			[]string{"-control-plane-ca", authority.File, "-tls-cert", own.Cert, "-tls-key", own.Key}, up},
		"another authority": {[]string{"-control-plane-ca", other.File}, down},
		"another authority, with the manager's certificate": {
			[]string{"-control-plane-ca", other.File, "-tls-cert", of.Cert, "-tls-key", of.Key}, down},
		"the authorities of the system": {nil, down},
	} {
		t.Run(name, func(t *testing.T) {
			plane := startDataPlane(t, t.TempDir(), manager.admin, c.args...)
			if c.want == down {
				plane.Log.Await(t, "failed to verify certificate")
			}
			require.Eventually(t, func() bool {
				_, metrics := ask(t, http.MethodGet, plane.admin+"/metrics", "", "", nil)
				return strings.Contains(metrics, c.want)
			}, patience, 50*time.Millisecond)
			require.NoError(t, plane.Stop())
		})
	}
	require.NoError(t, manager.Stop())
}

func TestReadSettings_dataPlane(t *testing.T) {
	for want, args := range map[string][]string{
		"requires -control-plane": {"-gateway-only"},
		"requires -gateway-only":  {"-control-plane", "http://127.0.0.1:8101"},
		"cannot be given together with -gateway-only": {"-gateway-only", "-control-plane", "http://x:1", "-kong", "http://y:1",
			"-gateway-url", "http://z"},
		"-store (APIMANAGER_STORE)":            {"-gateway-only", "-control-plane", "http://x:1", "-store", "memory:"},
		"-blobs (APIMANAGER_BLOBS)":            {"-gateway-only", "-control-plane", "http://x:1", "-blobs", "memory:"},
		"-idp (APIMANAGER_IDP)":                {"-gateway-only", "-control-plane", "http://x:1", "-idp", "http://y:1/auth/"},
		"with -gateway-only requires -idp":     {"-gateway-only", "-control-plane", "http://x:1", "-client-secret", "long enough"},
		"-demo-admin-password (APIMANAGER_DEM": {"-gateway-only", "-control-plane", "http://x:1", "-demo-admin-password", "long enough"},
		"-admin-token":                         {"-gateway-only", "-control-plane", "http://x:1", "-admin-token", "a token that is long"},
		"expected a URL such as http://HOST:":  {"-gateway-only", "-control-plane", "x:1"},
	} {
		_, err := readSettings(args)
		require.ErrorContains(t, err, want)
	}
}

func TestRun_severalServersShareRateLimitsAndDataPlanes(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sunny")) }))
	t.Cleanup(service.Close)
	s := newShared(t, mongotest.StartProcess(t), "http://portal.example.org")
	s.args = append(s.args, "-store-timeout", "2s") // the store goes away
	dir := filepath.Join(t.TempDir(), "a")
	a, b := s.start(t, dir), s.start(t, filepath.Join(t.TempDir(), "b"))
	status, body := a.publish(t, a.token(t, "demodeveloper", passwords(t, dir)["demo_password"]), "weather",
		`{"openapi":"3.0.3","info":{"title":"Weather","version":"1"},"servers":[{"url":"`+service.URL+`"}],
		"x-kong-plugin-rate-limiting":{"config":{"year":20,"limit_by":"service"}},
		"paths":{"/weather":{"get":{"responses":{"200":{"description":"ok"}}}}}}`)
	require.Equal(t, http.StatusOK, status, body)
	at := func(p *process) int {
		status, _ := ask(t, http.MethodGet, p.gateway+"/weather", "", "", nil)
		return status
	}
	for range 20 {
		require.Equal(t, http.StatusOK, at(a))
	}
	require.Equal(t, http.StatusTooManyRequests, at(a))
	admitted := 0
	require.Eventually(t, func() bool {
		status := at(b)
		if status == http.StatusOK {
			admitted++
		}
		return status == http.StatusTooManyRequests
	}, patience, 200*time.Millisecond)
	require.Less(t, admitted, 20, "what was admitted at a counts at b")
	_, metrics := ask(t, http.MethodGet, b.admin+"/metrics", "", "", nil)
	require.Contains(t, metrics, "gateway_limits_shared 1")

	plane := startDataPlane(t, filepath.Join(t.TempDir(), "plane"), b.admin)
	require.Eventually(t, func() bool { return at(plane) == http.StatusOK }, patience, 50*time.Millisecond)
	s.database.Kill()
	require.Equal(t, http.StatusOK, at(plane), "it needs no store")
	require.Equal(t, http.StatusTooManyRequests, at(b), "what is known of the counts holds without the store")
	require.NoError(t, plane.Stop())
	require.NoError(t, a.Stop())
	require.NoError(t, b.Stop())
}
