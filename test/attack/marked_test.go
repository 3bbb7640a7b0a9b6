package attack_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// marked is a server whose settings hold marked secrets, with the log at its most.
type marked struct {
	*process
	marks []string
}

// mark returns a secret that no other text holds.
func mark(name string) string { return "s3cretMark" + name + "Zq7" }

// secret is a marked one, or the begin of one where a setting ends before.
var secret = regexp.MustCompile(`s3cret.*?(?:Zq7|$)`)

// startMarked starts a command in a folder of its own, and waits until it listens. Its access is open.
func startMarked(t *testing.T, c command, environment []string, arguments ...string) *marked {
	t.Helper()
	m := runMarked(t, c, environment, arguments...)
	m.awaitListeners(t)
	return m
}

// runMarked is startMarked for a command that may end by itself.
func runMarked(t *testing.T, c command, environment []string, arguments ...string) *marked {
	t.Helper()
	m := &marked{}
	for _, setting := range slices.Concat(arguments, environment) {
		m.marks = append(m.marks, secret.FindAllString(setting, -1)...)
	}
	m.process = c.run(t, options{environment: environment,
		arguments: append(arguments, "-log-level", "debug", "-log-to-file", "-log-file", filepath.Join("log", "server.log"))})
	return m
}

// requireRefused checks that the server ends because of its settings, without their secrets in what it wrote.
func (m *marked) requireRefused(t *testing.T) {
	t.Helper()
	require.Contains(t, []int{1, 2}, m.AwaitEnd(), "2 if the settings alone say that they are wrong")
	m.requireNone(t)
}

func (m *marked) log() string { return filepath.Join(m.dir, "log", "server.log") }

// knock sends requests with secrets where clients have them, which the server refuses or
// ignores.
func (m *marked) knock(t *testing.T, address string) {
	t.Helper()
	for _, place := range []string{"/", "/nowhere/at/all", "/metrics", "/job/status/none", "/channels/none"} {
		for i, field := range []string{
			"Authorization: Bearer " + mark("Bearer"),
			"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+mark("Basic"))),
			"Cookie: session=" + mark("Cookie"),
			"Apikey: " + mark("Key"),
		} {
			method := []string{http.MethodGet, http.MethodPost}[i%2]
			send(t, method+" "+address+place+"?apikey="+mark("Query")+"&access_token="+mark("Token"), "", "", field)
		}
	}
	m.marks = append(m.marks, mark("Bearer"), mark("Basic"), mark("Cookie"), mark("Key"), mark("Query"), mark("Token"),
		base64.StdEncoding.EncodeToString([]byte("user:"+mark("Basic"))))
}

// keepsSecrets stops the server and looks for the secrets in all that it wrote, and in
// further texts.
func (m *marked) keepsSecrets(t *testing.T, texts ...string) {
	t.Helper()
	m.Stop()
	m.requireNone(t, texts...)
}

func (m *marked) requireNone(t *testing.T, texts ...string) {
	t.Helper()
	log, err := os.ReadFile(m.log())
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist) // it ended before it logged
	}
	require.NotEmpty(t, m.marks)
	for _, text := range append(texts, string(log), m.Output()) {
		for line := range strings.Lines(text) {
			for _, secret := range m.marks {
				require.NotContains(t, line, secret)
			}
		}
	}
}

// readExample returns the example of a request in the OpenAPI document of a server.
func readExample(t *testing.T, address, path, method string) map[string]any {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example map[string]any }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(send(t, "GET "+address+"/openapi.json", "", "").body), &document))
	example := document.Paths[path][method].RequestBody.Content["application/json"].Example
	require.NotNil(t, example, fmt.Sprint(path, method))
	return example
}
