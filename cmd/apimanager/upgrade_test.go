package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

func TestRun_opensAFolderOfTheUndividedRooms(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Made-Up")+" "+r.URL.Path)
	}))
	defer upstream.Close()
	folder := upgrade.Folder(t, "undivided/apimanager")
	raw, err := os.ReadFile(filepath.Join(folder, "credentials.json"))
	require.NoError(t, err)
	var credentials map[string]string
	require.NoError(t, json.Unmarshal(raw, &credentials))
	args := []string{"-data", folder,
		"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"}
	var p *upgrade.Program
	var token string
	for i := range 3 { // later on what the one before has written
		if i > 0 {
			p.Stop()
		}
		p = upgrade.Start(t, run, 4, args...)
		token = signIn(t, p.URLs[3], "demodeveloper", credentials["demo_password"])
		if i < 2 {
			upgrade.Compare(t, upgrade.Comparison{Record: "undivided/apimanager-admin", URL: p.URLs[2]})
			upgrade.Compare(t, upgrade.Comparison{Record: "undivided/apimanager-portal", URL: p.URLs[0], Token: token,
				Replacements: []string{p.URLs[1], "http://127.0.0.1:18838"}})
		}
	}
	gateway, admin := p.URLs[1], p.URLs[2]

	// The services are away, so a request that passes ends with 502 or 503.
	upgrade.Call(t, http.StatusUnauthorized, http.MethodGet, gateway+"/keyed", "", "")
	upgrade.Call(t, http.StatusUnauthorized, http.MethodGet, gateway+"/keyed?apikey=another", "", "")
	keyed := gateway + "/keyed?apikey=made-up-key-of-a-reader"
	upgrade.Call(t, http.StatusBadGateway, http.MethodGet, keyed, "", "")

	upgrade.Call(t, http.StatusCreated, http.MethodPost, admin+"/upstreams/pumps.internal/targets", "",
		`{"target": "`+strings.TrimPrefix(upstream.URL, "http://")+`"}`)
	require.Equal(t, "yes /1", upgrade.Call(t, http.StatusOK, http.MethodGet, gateway+"/pumps/1", "", ""))

	stored := p.URLs[0] + "/OpenAPIDocumentation/weather/definition"
	definition := upgrade.Call(t, http.StatusOK, http.MethodGet, stored, token, "")
	definition = strings.ReplaceAll(definition, "http://127.0.0.1:18840", upstream.URL)
	status, body := (&process{portal: p.URLs[0]}).publish(t, token, "weather", definition)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, " /keyed", upgrade.Call(t, http.StatusOK, http.MethodGet, keyed, "", ""))
}

// signIn gets a token for a user of the identity provider inside.
func signIn(t *testing.T, idp, user, password string) string {
	t.Helper()
	return (&process{idp: strings.TrimSuffix(idp, "/") + "/"}).token(t, user, password)
}
