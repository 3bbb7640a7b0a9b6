package overview_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/shell"
)

func get(h http.Handler, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Body.String()
}

// models is a block with a count.
func models(count uint64, fault string) []overview.Block {
	return []overview.Block{{
		Name: "Models", Summary: "Keeps <models>.", Href: "models/", Address: "http://127.0.0.1:1", Fault: fault,
		Facts: []overview.Fact{{Name: "models", Value: count, Href: "models/?all"}, {Name: "lost", Value: 7}},
		Links: []overview.Link{{Text: "Interface", Href: "/docs/"}},
	}}
}

// newPage returns the page of a platform with these blocks.
func newPage(blocks func() []overview.Block, steps ...overview.Step) http.Handler {
	return overview.NewPage(overview.Config{Events: &overview.Events{}, Steps: steps, Blocks: blocks}, nil)
}

func TestNewPage_leadsFromEachFactToItsPage(t *testing.T) {
	h := newPage(func() []overview.Block { return models(1234567, "") })
	page := get(h, "/")
	for _, text := range []string{`<a href="./models/">Models</a>`, "Keeps &lt;models&gt;.", `<a href="./models/?all">1,234,567</a>`,
		"<dd>7</dd>", `<a href="/docs/">Interface</a>`, "all is well", "Nothing has happened since the start."} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "Begin here")
}

func TestNewPage_showsFaults(t *testing.T) {
	h := newPage(func() []overview.Block { return models(0, "disk <full>") })
	page := get(h, "/")
	require.Contains(t, page, "1 of 1 not usable")
	require.Contains(t, page, `data-block="Models" data-state="failed"`)
	require.Contains(t, page, "disk &lt;full&gt;")
}

func TestNewPage_saysWhatToDoNext(t *testing.T) {
	there := uint64(3)
	steps := []overview.Step{
		{Title: "Keep a <model>", Href: "models/new", Action: "Make one", Command: "curl 'a&b'", Block: "Models", Fact: "models", Before: 3},
		{Title: "Publish", Href: "apis/", Action: "Open", Block: "APIs", Fact: "published"},
	}
	h := newPage(func() []overview.Block { return models(there, "") }, steps...)
	page := get(h, "/")
	for _, text := range []string{"Begin here", "Keep a &lt;model&gt;", `href="./models/new">Make one</a>`, "curl &#39;a&amp;b&#39;"} {
		require.Contains(t, page, text)
	}
	there = 4
	page = get(h, "/")
	require.NotContains(t, page, "Begin here")
	require.NotContains(t, page, "Keep a")
	require.Contains(t, page, "More to try (1)")
}

func TestNewPage_answersWithTheStateThatThePageShows(t *testing.T) {
	events := &overview.Events{}
	h := overview.NewPage(overview.Config{Events: events, Blocks: func() []overview.Block { return models(5, "") }}, nil)
	require.Contains(t, get(h, "/state"), `"events":[]`, "an empty list is a list")
	events.Logger(slog.New(slog.DiscardHandler), overview.Source{Block: "Models"}).Info("made a model", "name", "<sosa>")
	var state struct {
		Blocks []overview.Block
		Events []overview.Event
	}
	require.NoError(t, json.Unmarshal([]byte(get(h, "/state")), &state))
	require.EqualValues(t, 5, state.Blocks[0].Facts[0].Value)
	require.Equal(t, "name <sosa>", state.Events[0].Detail)
	require.Contains(t, get(h, "/"), "name &lt;sosa&gt;")
}

func TestNewPage_showsDetailsToOperatorsOnly(t *testing.T) {
	events := &overview.Events{}
	events.Logger(slog.New(slog.DiscardHandler), overview.Source{Block: "APIs"}).Info("people sign in", "passwords", "/data/credentials")
	h := overview.NewPage(overview.Config{Events: events, Blocks: func() []overview.Block { return nil }}, nil)
	for role, shown := range map[httpapi.Role]bool{httpapi.Reader: false, httpapi.Operator: true} {
		framed := (&shell.Shell{
			Name: "enablers", Sections: func(*http.Request) []shell.Section { return nil },
			Person: func(*http.Request) shell.Person { return shell.Person{Name: "ann", Role: role} },
		}).With(h)
		for _, path := range []string{"/", "/state"} {
			page := get(framed, path)
			require.Contains(t, page, "people sign in")
			require.Equal(t, shown, strings.Contains(page, "/data/credentials"), "%s as %s", path, role)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/no/where", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Contains(t, w.Body.String(), `<a href="../">overview</a>`)
}

func TestNewPage_requiresTheRoleOfEveryRoute(t *testing.T) {
	httpapitest.Access{
		Handler: overview.NewPage(overview.Config{Events: &overview.Events{}, Blocks: func() []overview.Block { return nil }},
			&overview.HandlerOptions{Authorize: httpapitest.Authorize}),
		Documents: map[string]string{},
		Undocumented: map[string]string{
			"GET /": "reader", "HEAD /": "reader", "GET /state": "reader", "GET /state/": "reader",
			"GET /page/overview.js": "public", "GET /page/shell.js": "public", "GET /favicon.ico": "public",
		},
	}.Check(t)
}

func TestNewPage_refusesReboundNames(t *testing.T) {
	httpapitest.Guarded{
		New: func(hosts ...string) http.Handler {
			return overview.NewPage(overview.Config{Events: &overview.Events{}, Blocks: func() []overview.Block { return nil }},
				&overview.HandlerOptions{Hosts: hosts})
		},
		Read: "/state",
	}.Check(t)
}
