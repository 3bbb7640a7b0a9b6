package attack_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// markedPrograms has a function for each command that builds it once.
var markedPrograms sync.Map

func markedProgram(t *testing.T, name string) string {
	t.Helper()
	build, _ := markedPrograms.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		folder, err := os.MkdirTemp("", "attack-"+name+"-") // for all tests of the binary
		if err != nil {
			return "", err
		}
		return interop.BuildIn(folder, name)
	}))
	path, err := build.(func() (string, error))()
	require.NoError(t, err)
	return path
}

// marked is a server whose settings hold marked secrets, with the log at its most.
type marked struct {
	*interop.Process
	dir   string
	marks []string
}

// mark returns a secret that no other text holds.
func mark(name string) string { return "s3cretMark" + name + "Zq7" }

// startMarked starts a command in a folder of its own. Before it starts, wrap may change how.
func startMarked(t *testing.T, name string, environment []string, arguments ...string) *marked {
	t.Helper()
	m := &marked{dir: t.TempDir()}
	arguments = append(arguments, "-data", filepath.Join(m.dir, "data"), "-log-level", "debug", "-log-to-file", "-log-file", m.log())
	command := exec.Command(markedProgram(t, name), arguments...)
	command.Dir = m.dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir}, environment...)
	for _, setting := range append(arguments, environment...) {
		if strings.Contains(setting, "s3cret") {
			_, secret, _ := strings.Cut(setting, "s3cret")
			secret, _, _ = strings.Cut(secret, "Zq7")
			m.marks = append(m.marks, "s3cret"+secret+"Zq7")
		}
	}
	m.Process = interop.StartProcess(t, command)
	return m
}

func (m *marked) log() string { return filepath.Join(m.dir, "log", "server.log") }

// address waits for the address of a listener, by the end of its line.
func (m *marked) address(name string) string {
	return strings.TrimSuffix(strings.Fields(m.AwaitLine(name))[0], "/")
}

// send sends a request and returns status and answer.
func (m *marked) send(t *testing.T, method, address string, body any, header ...string) (int, string) {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(t, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(text))
	require.NoError(t, err)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	read, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(read)
}

// knock sends requests with secrets where clients have them, which the server refuses or
// ignores.
func (m *marked) knock(t *testing.T, address string) {
	t.Helper()
	for _, place := range []string{"/", "/nowhere/at/all", "/metrics", "/job/status/none", "/channels/none"} {
		for i, header := range [][2]string{
			{"Authorization", "Bearer " + mark("Bearer")},
			{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+mark("Basic")))},
			{"Cookie", "session=" + mark("Cookie")},
			{"Apikey", mark("Key")},
		} {
			method := []string{http.MethodGet, http.MethodPost}[i%2]
			m.send(t, method, address+place+"?apikey="+mark("Query")+"&access_token="+mark("Token"), nil, header[0], header[1])
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

// exampleOf returns the example of a request in the OpenAPI document of a server.
func (m *marked) exampleOf(t *testing.T, address, path, method string) map[string]any {
	t.Helper()
	_, text := m.send(t, http.MethodGet, address+"/openapi.json", nil)
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example map[string]any }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	example := document.Paths[path][method].RequestBody.Content["application/json"].Example
	require.NotNil(t, example, fmt.Sprint(path, method))
	return example
}

// listener waits for the address of a listener, by the name at the end of its line.
func (m *marked) listener(name string) string {
	for {
		for line := range strings.Lines(m.Output()) {
			if rest, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(strings.TrimSpace(rest), name) {
				return strings.TrimSuffix(strings.Fields(rest)[0], "/")
			}
		}
		m.AwaitLine("listening on ")
	}
}

// awaitOutput waits until the server has written a text.
func (m *marked) awaitOutput(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(m.Output(), text) }, time.Minute, 10*time.Millisecond)
}
