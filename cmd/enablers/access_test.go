package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, folder string) []string {
			args := []string{"-data", folder, "-mqtt", "127.0.0.1:0"}
			for _, name := range []string{"listen", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager",
				"gateway", "gateway-admin", "multilink", "multilink-client"} {
				args = append(args, "-"+name, host+":0")
			}
			return args
		},
		Listener: "console and annotator", Read: "GET /ui/state", Change: "POST /channels",
		Others: []doortest.Requests{{Read: "GET /channels", Change: "DELETE /channels/none"}},
	}.Check(t)
}

func TestRun_putsOneDoorBeforeEveryListener(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("anna reader anna-and-16-characters\nchloe admin chloe-and-16-characters\n"), 0o600))
	authority := servertest.NewAuthority(t)
	own := authority.Issue("enablers")
	p := start(t, "-access-tokens", file, "-tls-cert", own.Cert, "-tls-key", own.Key)
	p.Await("Or start with -demo") // what comes last
	client := authority.Client()
	get := func(url, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }() // it was only read
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, url := range []string{
		p.web + "/", p.web + "/ui/state", p.web + "/channels", p.web + "/metrics", p.models + "/", p.models + "/metrics",
		p.collector + "/jobs", p.collector + "/model", p.collector + "/repository/model", p.collector + "/metrics",
		p.portal + "/OpenAPIDocumentation/", p.portal + "/metrics", p.admin + "/metrics",
		p.bonding + "/status", p.attached + "/status", p.bonding + "/metrics", p.bonding + "/",
	} {
		require.True(t, strings.HasPrefix(url, "https://"), url)
		status, text := get(url, "")
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", url, text)
		status, text = get(url, "anna-and-16-characters")
		require.Equal(t, http.StatusOK, status, "%s: %s", url, text)
	}
	status, text := get(p.admin+"/services", "anna-and-16-characters")
	require.Equal(t, http.StatusForbidden, status, text)
	status, text = get(p.admin+"/services", "chloe-and-16-characters")
	require.Equal(t, http.StatusOK, status, text)

	const patience = time.Minute
	require.Eventually(t, func() bool {
		_, text := get(p.bonding+"/status", "anna-and-16-characters")
		return strings.Contains(text, `"connected":true`)
	}, patience, 20*time.Millisecond, "the demonstration of multi-link is configured behind the door")
	require.Eventually(t, func() bool {
		_, text := get(p.portal+"/OpenAPIDocumentation/", "anna-and-16-characters")
		return strings.Count(text, `"state":"published"`) >= 12 // each is there as the enabler's, and in its list
	}, patience, 20*time.Millisecond, "the library has the definitions of the process")

	parties, err := tumours.Parties()
	require.NoError(t, err)
	flowerClient, err := flower.NewClient(flower.ClientConfig{Target: p.clients[strings.LastIndex(p.clients, "/")+1:],
		TLS: authority.ClientTLS(), Trainer: tumours.NewTrainer(parties[0])})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(p.clients, "grpcs://"), p.clients)
	require.ErrorContains(t, flowerClient.Run(t.Context()), "A token is required")
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "is not in the library")
	require.NotContains(t, p.Log.String(), "is not attached")
	require.NotContains(t, p.Log.String(), "-16-characters")
}
