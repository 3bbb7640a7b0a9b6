package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/console"
)

// newConsole returns a page with one service and the channels.
func newConsole(channels ...console.Channel) http.Handler {
	return console.NewHandler(console.Config{
		Services: func() []console.Service {
			return []console.Service{{
				Name: "Annotator", Summary: "Annotates.", Address: "http://127.0.0.1:1",
				Links: []console.Link{{Text: "Interface", Href: "/swagger/"}},
				Facts: []console.Fact{{Name: "channels", Value: 1234567}},
			}}
		},
		Channels: func() []console.Channel { return channels },
		Guide:    []console.Step{{Text: "Do this:", Command: "curl 'http://127.0.0.1:1/?a&b'"}},
	}, nil)
}

func get(t *testing.T, handler http.Handler, path string) *http.Response {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return recorder.Result()
}

func body(t *testing.T, answer *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestNewHandler_showsEverythingWithoutJavaScript(t *testing.T) {
	answer := get(t, newConsole(console.Channel{
		ID: "a/b", Name: "Kitchen", Href: "/channels/a%2Fb?all", From: "JSON", To: "TTL",
		Input: "kitchen/in", Output: "kitchen/rdf", State: console.Waiting,
		Fault: "broker away", LastFailure: "12:00:00: bad <json>", Received: 1000, Published: 999, Failed: 1,
	}), "/")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	page := body(t, answer)
	for _, text := range []string{
		"Annotator", "http://127.0.0.1:1", `href="/swagger/"`, "1,234,567",
		"Kitchen", `href="/channels/a%2Fb?all"`, "JSON to TTL", "kitchen/in", "kitchen/rdf", "waiting",
		"broker away", "12:00:00: bad &lt;json&gt;", ">1,000<", ">999<",
		"curl &#39;http://127.0.0.1:1/?a&amp;b&#39;",
	} {
		require.Contains(t, page, text)
	}
	require.Contains(t, page, `<p id="empty" hidden>`)
}

func TestNewHandler_saysThatThereAreNoChannels(t *testing.T) {
	require.Contains(t, body(t, get(t, newConsole(), "/")), `<p id="empty">There is no channel yet.`)
}

func TestNewHandler_loadsNothingFromOtherOrigins(t *testing.T) {
	handler := newConsole()
	answer := get(t, handler, "/")
	policy := answer.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	page := body(t, answer)
	require.NotContains(t, page, "<style")
	require.NotRegexp(t, `<script[^>]*>[^<]`, page)
	require.NotRegexp(t, ` (on[a-z]+|style)=`, page)
	loaded := regexp.MustCompile(`<(?:script|img)[^>]* src="([^"]*)"|<link[^>]* href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, loaded)
	for _, m := range loaded {
		path := m[1] + m[2]
		require.True(t, strings.HasPrefix(path, "/console/assets/"), path)
		require.Equal(t, http.StatusOK, get(t, handler, path).StatusCode, path)
	}
}

func TestNewHandler_answersWithTheStateThatThePageShows(t *testing.T) {
	answer := get(t, newConsole(console.Channel{ID: "a", State: console.Running, Received: 5}), "/console/state")
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	var state struct {
		Services []struct{ Name, Fault string }
		Channels []struct {
			ID, State string
			Received  uint64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body(t, answer)), &state))
	require.Equal(t, "Annotator", state.Services[0].Name)
	require.Equal(t, "a", state.Channels[0].ID)
	require.Equal(t, "running", state.Channels[0].State)
	require.EqualValues(t, 5, state.Channels[0].Received)
}

func TestNewHandler_writesAnEmptyListAsAList(t *testing.T) {
	require.Contains(t, body(t, get(t, newConsole(), "/console/state")), `"channels":[]`)
}

func TestAssets_serveNothingElse(t *testing.T) {
	for _, path := range []string{"/console/assets/", "/console/assets/..%2Fpage.html", "/console/assets/none.js", "/elsewhere"} {
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, get(t, newConsole(), path).StatusCode, path)
	}
}
