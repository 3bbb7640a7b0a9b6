package portal_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/portal"
)

func TestPortal_developerPublishesAndReads(t *testing.T) {
	w := newWorld(t)
	landing := w.person(t, "").get("/")
	require.Contains(t, landing.body, "Sign in")
	require.NotContains(t, landing.body, "Sign out")

	p := w.person(t, developerToken)
	home := p.get("/")
	require.Equal(t, http.StatusOK, home.status, home.body)
	require.Equal(t, "/", home.url.Path)
	for _, text := range []string{`<strong>demodeveloper</strong><span class="role">Developer</span>`, "Sign out",
		"Enabler’s name", "No API is published yet."} {
		require.Contains(t, home.body, text)
	}

	preview := p.upload("preview", "Weather station", "Reports", weather("1.0", "/forecast"))
	require.Equal(t, http.StatusOK, preview.status, preview.body)
	require.Contains(t, preview.body, "What publishing version 1.0 would do")
	require.Contains(t, preview.body, "create route")
	require.Contains(t, preview.body, "No API is published yet.", "a preview changes nothing")

	done := p.upload("publish", "Weather station", "Reports", weather("1.0", "/forecast"))
	require.Equal(t, http.StatusOK, done.status, done.body)
	require.Contains(t, done.body, `1.0 is published: the gateway serves 1 operation.`)
	require.Contains(t, done.body, `<a href="./apis/Weather%20station">`)

	api := p.get("/apis/Weather%20station")
	require.Equal(t, http.StatusOK, api.status, api.body)
	require.Contains(t, api.body, "What the <em>sky</em> does.")
	require.Contains(t, api.body, "Reports")

	shown := p.get("/apis/Weather%20station/definition?version=1.0")
	require.Equal(t, http.StatusOK, shown.status)
	require.Contains(t, shown.body, `"servers":[{"url":"`+gatewayURL+`"}]`)
	require.NotContains(t, shown.body, "127.0.0.1:9")

	token := p.part("/token")
	require.Equal(t, http.StatusOK, token.status)
	require.Contains(t, token.body, `{"access_token":"`+developerToken+`"}`)
	require.Equal(t, "no-store", token.header.Get("Cache-Control"))
}

func TestPortal_openCallerReadsOnly(t *testing.T) {
	w := newWorld(t)
	developer := w.person(t, developerToken)
	require.Contains(t, developer.upload("publish", "weather", "d", weather("1.0", "/forecast")).body, "1.0 is published")

	p := w.person(t, callerToken)
	home := p.get("/")
	require.Contains(t, home.body, `<span class="role">Open-Caller</span>`)
	require.NotContains(t, home.body, `id="upload"`)
	require.Contains(t, home.body, `data-enabler="weather"`)
	api := p.get("/apis/weather")
	require.Equal(t, http.StatusOK, api.status)
	require.NotContains(t, api.body, "Manage version")
	require.Equal(t, http.StatusForbidden, p.upload("publish", "mine", "d", weather("1.0", "/mine")).status)
	require.Equal(t, http.StatusForbidden, p.get("/apis/weather/delete").status)
	for _, path := range []string{"/apis/weather", "/apis/weather/state", "/apis/weather/delete"} {
		require.Equal(t, http.StatusForbidden, p.post(path,
			url.Values{"state": {"sunset"}, "version": {"1.0"}, "description": {"x"}}).status, path)
	}
	require.Contains(t, p.get("/").body, `data-enabler="weather"`)
}

func TestPortal_refusesUsersWithoutARole(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, noRoleToken)
	home := p.get("/")
	require.Contains(t, home.body, "Your account has no role yet")
	require.Equal(t, http.StatusForbidden, p.get("/apis/weather").status)
	require.Equal(t, http.StatusForbidden, p.part("/token").status)
}

func TestPortal_library_searchesByTextAndState(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	p.upload("publish", "weather", "skies", weather("1.0", "/forecast"))
	p.upload("draft", "tides", "water", weather("0.1", "/tides"))
	for query, want := range map[string][2]bool{"": {true, true}, "q=skies": {true, false}, "q=WATER": {false, true},
		"state=draft": {false, true}, "q=nothing": {false, false}} {
		list := p.part("/?" + query)
		require.Equal(t, http.StatusOK, list.status)
		require.NotContains(t, list.body, "<html")
		require.Equal(t, want, [2]bool{contains(list.body, `data-enabler="weather"`), contains(list.body, `data-enabler="tides"`)}, query)
	}
}

func TestPortal_showsSecurityThatTheGatewayDoesNotEnforce(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	file := strings.Replace(weather("1", "/forecast"), `"get": {`, `"get": {"security": [{"key": []}], `, 1)
	file = strings.Replace(file, `"paths"`, `"components": {"securitySchemes":
		{"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}, "paths"`, 1)
	const warning = `Warning: the definition declares security for GET /forecast, but the gateway forwards requests without credentials`
	preview := p.upload("preview", "weather", "", file)
	require.Contains(t, preview.body, warning)
	require.Contains(t, preview.body, "security declared, not enforced")
	require.Contains(t, p.upload("publish", "weather", "", file).body, warning)
	require.Contains(t, p.get("/apis/weather").body, warning)
}

func TestPortal_upload_showsErrorsAtTheirFields(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	for _, c := range []struct {
		name, enabler, file string
		status              int
		at                  string
	}{
		{"no name", "", weather("1", "/a"), http.StatusUnprocessableEntity, `data-field="enabler">Say which`},
		{"a bad name", "<b>", weather("1", "/a"), http.StatusBadRequest, `data-field="enabler">A name has letters`},
		{"no file", "weather", "", http.StatusUnprocessableEntity, `data-field="upload_file">Choose the file`},
		{"no definition", "weather", "{", http.StatusBadRequest, `data-field="upload_file">`},
		{"an old one", "weather", `{"swagger": "2.0"}`, http.StatusBadRequest, `data-field="upload_file">`},
	} {
		answer := p.upload("publish", c.enabler, "my <own> words", c.file)
		require.Equal(t, c.status, answer.status, c.name)
		require.Contains(t, answer.body, c.at, c.name)
		require.Contains(t, answer.body, "my &lt;own&gt; words", c.name)
	}
	file := strings.Replace(weather("1", "/a/{id}"), `"get": {`,
		`"get": {"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}], `, 1)
	require.Equal(t, http.StatusOK, p.upload("publish", "weather", "", file).status)
	conflict := p.upload("publish", "other", "", file, "X-Part", "1")
	require.Equal(t, http.StatusConflict, conflict.status, conflict.body)
	require.Contains(t, conflict.body, `<code>/a/{id}</code> is served by <a href="./apis/weather">weather</a>`)
}

func TestPortal_changesStatesAndConfirmsDeletion(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	p.upload("publish", "weather", "", weather("1.0", "/one"))
	p.upload("publish", "weather", "", weather("2.0", "/two"))
	require.Contains(t, p.get("/apis/weather?version=1.0").body,
		`<select id="state" name="state" required><option value="" selected>choose one</option><option>deprecated</option>`)
	unchosen := p.post("/apis/weather/state", url.Values{"version": {"1.0"}, "state": {""}})
	require.Equal(t, http.StatusBadRequest, unchosen.status)
	require.Contains(t, unchosen.body, "Choose the new state.")
	api := p.post("/apis/weather/state", url.Values{"version": {"1.0"}, "state": {"deprecated"},
		"sunset": {"2040-02-03"}, "link": {"https://example.org/new"}})
	require.Equal(t, http.StatusOK, api.status, api.body)
	require.Contains(t, api.body, "2040-02-03")
	require.Contains(t, api.body, `href="https://example.org/new"`)
	require.Equal(t, http.StatusPreconditionFailed,
		p.post("/apis/weather/state", url.Values{"version": {"1.0"}, "state": {"sunset"}, "revision": {"1"}}).status)
	require.Equal(t, http.StatusBadRequest, p.post("/apis/weather/state",
		url.Values{"version": {"1.0"}, "state": {"gone"}}).status)

	ask := p.get("/apis/weather/delete?version=1.0")
	require.Contains(t, ask.body, "Delete version 1.0 of weather?")
	require.Contains(t, p.get("/apis/weather?version=1.0").body, "1.0", "asking deletes nothing")
	require.Equal(t, "/apis/weather", p.post("/apis/weather/delete", url.Values{"version": {"1.0"}}).url.Path)
	require.Equal(t, http.StatusNotFound, p.get("/apis/weather?version=1.0").status)
	gone := p.post("/apis/weather/delete", url.Values{})
	require.Equal(t, "/", gone.url.Path)
	require.Contains(t, gone.body, "No API is published yet.")
}

func TestPortal_upload_servesBelowAPath(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	require.Equal(t, http.StatusOK, p.upload("publish", "weather", "", weather("1", "/a")).status)
	conflict := p.upload("publish", "other", "", weather("1", "/a"))
	require.Equal(t, http.StatusConflict, conflict.status)
	require.Contains(t, conflict.body, "Give the API a path of its own")
	require.Contains(t, conflict.body, `value="/other"`, "a path is suggested")
	preview := p.upload("preview", "other", "", weather("1", "/a"), "X-Part", "1")
	require.Contains(t, preview.body, `data-part="fault-path" data-suggested="/other"`)
	require.Contains(t, p.uploadBelow("/mine", "publish", "third", "", weather("1", "/b")).body, "below <code>/mine</code>")
	wrong := p.uploadBelow("/{x}", "publish", "other", "", weather("1", "/a"))
	require.Equal(t, http.StatusBadRequest, wrong.status)
	require.Contains(t, wrong.body, `data-field="path">The path`)
	require.Contains(t, wrong.body, `value="/{x}"`)
	require.Contains(t, p.uploadBelow("/other", "preview", "other", "", weather("1", "/a")).body, "<b>GET</b> /other/a")
	done := p.uploadBelow("/other", "publish", "other", "", weather("1", "/a"))
	require.Equal(t, http.StatusOK, done.status, done.body)
	require.Contains(t, done.body, "the gateway serves 1 operation below <code>/other</code>.")
	api := p.get("/apis/other")
	require.Contains(t, api.body, "<b>GET</b> /other/a")
	require.Contains(t, api.body, "<code>"+gatewayURL+"/other</code>")
	require.Contains(t, p.get("/apis/other/definition?version=1").body, `"servers":[{"url":"`+gatewayURL+`/other"}]`)
}

func TestPortal_api_sendsTheTokenByDefaultToOwnAPIsOnly(t *testing.T) {
	w := newWorld(t, func(c *portal.Config) { c.Own = []string{"the platform"} })
	developer := w.person(t, developerToken)
	require.Contains(t, developer.upload("publish", "weather", "d", weather("1.0", "/forecast")).body, "1.0 is published")
	_, err := w.publisher.Publish(t.Context(), apimgmt.Upload{Enabler: "platform", By: "the platform",
		Definition: []byte(weather("1.0", "/platform"))})
	require.NoError(t, err)
	_, err = w.publisher.Publish(t.Context(), apimgmt.Upload{Enabler: "of no one", Definition: []byte(weather("1.0", "/unknown"))})
	require.NoError(t, err)
	caller := w.person(t, callerToken)
	for _, c := range []struct {
		who  *person
		path string
		sent bool
	}{
		{developer, "/apis/weather", true}, {developer, "/apis/platform", true}, {developer, "/apis/of%20no%20one", false},
		{caller, "/apis/weather", false}, {caller, "/apis/platform", true}, {caller, "/apis/of%20no%20one", false},
	} {
		box := regexp.MustCompile(`<input[^>]*id="send-token"[^>]*>`).FindString(c.who.get(c.path).body)
		require.NotEmpty(t, box, c.path)
		require.Equal(t, c.sent, strings.Contains(box, " checked"), c.path)
		require.Equal(t, !c.sent, strings.Contains(c.who.get(c.path).body, `id="send-token-hint"`), c.path)
	}
	require.Contains(t, caller.get("/apis/weather").body, "belongs to demodeveloper, and could use your token")
}
