package upgrade

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Run is the function run of a command.
type Run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Program is a command that runs within the test.
type Program struct {
	// URLs are the addresses of its listeners, in the order of its output.
	URLs []string

	t    testing.TB
	stop func() error
}

// Start runs a command and returns when it has written that it listens on as many
// addresses. It ends with the test, if not before.
func Start(t testing.TB, run Run, listeners int, args ...string) *Program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, args, stdout, t.Output())
		_ = stdout.CloseWithError(io.EOF)
		done <- err
	}()
	p := &Program{t: t, stop: sync.OnceValue(func() error {
		cancel()
		return <-done
	})}
	t.Cleanup(func() { _ = p.stop() })
	lines := bufio.NewScanner(out)
	for len(p.URLs) < listeners {
		if !lines.Scan() {
			require.NoError(t, p.stop())
			t.Fatal("the command ended before it listened")
		}
		if rest, found := strings.CutPrefix(lines.Text(), "listening on "); found {
			url, _, _ := strings.Cut(rest, " ")
			p.URLs = append(p.URLs, strings.TrimSuffix(url, "/"))
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// Stop ends the command in order.
func (p *Program) Stop() {
	p.t.Helper()
	require.NoError(p.t, p.stop())
}

// Call sends a request with a JSON body, if there is one, and returns the body of the
// answer, which has to have the status. A token is a bearer token; empty means none.
func Call(t testing.TB, want int, method, url, token, body string) string {
	t.Helper()
	status, text := send(t, method, url, token, body)
	require.Equal(t, want, status, "%s %s: %.1000s", method, url, text)
	return text
}

func send(t testing.TB, method, url, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultTransport.RoundTrip(request) // redirections are answers as well
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

// Comparison says how today's answers are compared with recorded ones.
type Comparison struct {
	// Record names a file of testdata, such as "undivided/annotator".
	Record string
	// URL is the address of the service, Token a bearer token for it.
	URL, Token string
	// Replacements are pairs of texts: what an answer has today, and what it had then.
	Replacements []string
	// Ignored are members of objects that an installation does not keep, such as counters.
	Ignored []string
}

// Compare sends every request of the record, and fails the test for each answer that
// differs from the recorded one.
func Compare(t testing.TB, c Comparison) {
	t.Helper()
	raw, err := testdata.ReadFile("testdata/" + c.Record + ".json")
	require.NoError(t, err)
	var record map[string]struct {
		Status int
		Body   any
		SHA256 string
	}
	require.NoError(t, json.Unmarshal(raw, &record))
	require.NotEmpty(t, record)
	for path, want := range record {
		status, text := send(t, http.MethodGet, c.URL+path, c.Token, "")
		if status != want.Status {
			t.Errorf("GET %s: status %d, want %d: %.1000s", path, status, want.Status, text)
			continue
		}
		if want.SHA256 != "" {
			if hash := sha256.Sum256([]byte(text)); hex.EncodeToString(hash[:]) != want.SHA256 {
				t.Errorf("GET %s: the content differs", path)
			}
			continue
		}
		var got any
		require.NoError(t, json.Unmarshal([]byte(strings.NewReplacer(c.Replacements...).Replace(text)), &got), path)
		assert.Equal(t, c.without(want.Body), c.without(got), "GET %s", path)
	}
}

// without returns a decoded JSON value without the ignored members.
func (c Comparison) without(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range c.Ignored {
			delete(value, name)
		}
		for name := range value {
			value[name] = c.without(value[name])
		}
	case []any:
		for i := range value {
			value[i] = c.without(value[i])
		}
	}
	return value
}
