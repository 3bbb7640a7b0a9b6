package page_test

import (
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/multilink/status"
)

// visit is the pages of an instance, as a browser without scripts uses them.
type visit struct {
	*nodetest.Instance
	role  string // of the visitor
	pages http.Handler
}

func newVisit(i *nodetest.Instance) *visit {
	v := &visit{Instance: i, role: "admin"}
	pages, err := page.NewHandler(i.Node, &page.HandlerOptions{
		REST: rest.HandlerOptions{Authorize: func(_ *http.Request, role string) error {
			ranks := []string{"reader", "operator", "admin"}
			if slices.Index(ranks, v.role) < slices.Index(ranks, role) {
				return errors.New("the role " + role + " is required")
			}
			return nil
		}},
		Instances: []page.Instance{{Name: "server", Href: "/ui/links/"}, {Name: "client", Href: "/ui/links/client/"}},
	})
	require.NoError(i.T, err)
	v.pages = http.StripPrefix("/ui/links", pages)
	return v
}

func (v *visit) get(path string) *httptest.ResponseRecorder { return v.open("GET", path, nil) }

// open sends a form, or opens a page without one.
func (v *visit) open(method, path string, form url.Values) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/ui/links"+path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	v.pages.ServeHTTP(w, r)
	return w
}

// submit sends a form that leads to an address.
func (v *visit) submit(path string, form url.Values, to string) {
	v.T.Helper()
	if form == nil {
		form = url.Values{}
	}
	w := v.open("POST", path, form)
	require.Equal(v.T, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(v.T, to, w.Header().Get("Location"))
}

func TestNewHandler_addsCutsOrdersAndDeletesLinks(t *testing.T) {
	v := newVisit(server(t))
	page := v.get("/").Body.String()
	require.Contains(t, page, "No link is managed yet.")
	require.Contains(t, page, `href="./new"`)
	require.Contains(t, page, `<a href="/ui/links/" aria-current="true">server</a><a href="/ui/links/client/">client</a>`)

	v.submit("/new", url.Values{"name": {"wlan0"}, "endpoint": {"203.0.113.9:51820"}}, "./#links")
	v.submit("/new", url.Values{
		"name": {"mesh0"}, "endpoint": {"203.0.113.9:51821"}, "probe.interval_ms": {"20"}, "metered": {"on"},
	}, "./#links")
	require.Equal(t, 20*time.Millisecond, v.Plane.Current().Links[1].Probe.Interval)
	require.True(t, v.Plane.Current().Links[1].Metered)

	v.submit("/links/wlan0/disable", nil, "../../#links")
	require.True(t, v.Plane.Current().Links[0].Disabled)
	page = v.get("/").Body.String()
	require.Contains(t, page, `action="./links/wlan0/enable"`)
	require.Contains(t, page, "disabled by the administrator")
	v.submit("/links/wlan0/enable", nil, "../../#links")
	require.False(t, v.Plane.Current().Links[0].Disabled)
	v.submit("/links/mesh0/up", nil, "../../#links")
	v.submit("/links/mesh0/up", nil, "../../#links")
	require.Equal(t, "mesh0", v.Plane.Current().Links[0].Name)

	require.Contains(t, v.get("/links/mesh0").Body.String(), `value="203.0.113.9:51821"`)
	v.submit("/links/mesh0", url.Values{"endpoint": {"203.0.113.9:51829"}, "kind": {"5g"}}, "../#links")
	require.EqualValues(t, 51829, v.Plane.Current().Links[0].Listen)
	require.False(t, v.Plane.Current().Links[0].Metered)
	v.submit("/links/mesh0/delete", nil, "../../#links")
	require.Len(t, v.Plane.Current().Links, 1)
	require.Equal(t, http.StatusNotFound, v.open("POST", "/links/mesh0/delete", url.Values{}).Code)
	require.Equal(t, http.StatusNotFound, v.get("/links/mesh0").Code)
}

func TestNewHandler_showsWhatIsWrongWithAForm(t *testing.T) {
	v := newVisit(server(t))
	v.submit("/new", url.Values{"name": {"wlan0"}, "endpoint": {"203.0.113.9:51820"}}, "./#links")
	for _, c := range []struct {
		path, want string
		form       url.Values
		status     int
	}{
		{"/new", "Name: link &#34;wlan0&#34; is managed already.", url.Values{"name": {"wlan0"}, "endpoint": {"<b>:1"}}, http.StatusConflict},
		{"/new", "Interface: unknown interface", url.Values{"name": {"nix0"}, "endpoint": {"h:1"}}, http.StatusBadRequest},
		{"/new", "Probe every (ms): want a number, got", url.Values{"name": {"mesh0"}, "probe.interval_ms": {"x"}}, http.StatusBadRequest},
		{"/links/wlan0", "Endpoint: a server needs the HOST:PORT", url.Values{}, http.StatusBadRequest},
		{"/policy", "must be one of", url.Values{"policy": {"none"}}, http.StatusBadRequest},
		{"/switch", "Link: no link &#34;x&#34; is managed.", url.Values{"link": {"x"}, "hold_s": {"5"}}, http.StatusNotFound},
		{"/switch", "For (seconds): must be 0 to 86400, got", url.Values{"link": {"wlan0"}, "hold_s": {"1e6"}}, http.StatusBadRequest},
		{"/clients/new", "Public key: must be a public key", url.Values{"public_key": {"x"}}, http.StatusBadRequest},
	} {
		w := v.open("POST", c.path, c.form)
		require.Equal(t, c.status, w.Code, w.Body)
		require.Contains(t, w.Body.String(), c.want)
		require.NotContains(t, w.Body.String(), "<b>")
	}
}

func TestNewHandler_changesThePolicyAndSwitchesByHand(t *testing.T) {
	v := newVisit(server(t))
	v.Three(true)
	v.submit("/policy", url.Values{"policy": {"redundant"}, "wait_to_restore_ms": {"250"}}, "./#status")
	bond := v.Do(http.StatusOK, "GET", "/bond", nil)
	require.Subset(t, bond, nodetest.Object{"policy": "redundant", "wait_to_restore_ms": 250.0, "replay": false})
	require.Contains(t, v.get("/policy").Body.String(), `<option value="redundant" selected>redundant</option>`)
	v.submit("/switch", url.Values{"link": {"mesh0"}, "hold_s": {"5"}}, "./#status")
	v.submit("/switch", url.Values{"link": {"mesh0"}, "hold_s": {"5"}, "end": {"1"}}, "./#status")
}

func TestNewHandler_admitsAClientAndShowsItsKeysOnce(t *testing.T) {
	v, at := newVisit(server(t)), newVisit(client(t))
	v.Three(true)
	w := v.open("POST", "/clients/new", url.Values{"name": {"gw-1"}})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	text := regexp.MustCompile(`(?s)<textarea[^>]*>(.*)</textarea>`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, text, w.Body)
	object := html.UnescapeString(text[1])
	var made struct {
		PrivateKey string `json:"private_key"`
		Server     string `json:"server"`
	}
	require.NoError(t, json.Unmarshal([]byte(object), &made))
	require.Equal(t, "http://example.com", made.Server)
	require.NotContains(t, v.get("/").Body.String(), made.PrivateKey)

	require.Contains(t, at.get("/").Body.String(), "Not attached")
	w = at.open("POST", "/attach", url.Values{"object": {object}, "server": {"no URL"}})
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "URL of the server: must be the URL of the server")
	require.NotContains(t, w.Body.String(), made.PrivateKey, "it is not sent back")
	at.submit("/attach", url.Values{"object": {object}}, "./#clients")
	require.Contains(t, at.get("/").Body.String(), "Attached to http://example.com as gw-1")
	at.submit("/detach", nil, "./#clients")
	require.Equal(t, http.StatusConflict, at.get("/clients/new").Code, "a client has none")
	require.Equal(t, http.StatusConflict, v.get("/attach").Code, "a server attaches to none")

	v.submit("/clients/gw-1/disable", nil, "../../#clients")
	require.Contains(t, v.get("/").Body.String(), `action="./clients/gw-1/enable"`)
	v.submit("/clients/gw-1/enable", nil, "../../#clients")
	v.submit("/clients/gw-1/delete", nil, "../../#clients")
	require.Contains(t, v.get("/").Body.String(), "No clients yet.")
}

func TestNewHandler_pagesItsClients(t *testing.T) {
	v := newVisit(server(t))
	for range 105 {
		v.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{})
	}
	page := v.get("/").Body.String()
	require.Equal(t, 100, strings.Count(page, "<tr data-name="))
	next := regexp.MustCompile(`href="\./(\?q=&amp;after=[^"]+)#clients">More clients`).FindStringSubmatch(page)
	require.NotNil(t, next)
	require.Equal(t, 5, strings.Count(v.get("/"+html.UnescapeString(next[1])).Body.String(), "<tr data-name="))
	found := v.get("/?q=CLIENT-77").Body.String()
	require.Equal(t, 1, strings.Count(found, "<tr data-name="))
	require.Contains(t, found, "0 of 105", "the status counts all clients")
	require.Contains(t, v.get("/state?q=CLIENT-77").Body.String(), `"known":105`)
}

func TestNewHandler_namesItsServerWhereAnotherListenerHasThePage(t *testing.T) {
	v := newVisit(server(t))
	v.Three(true)
	pages, err := page.NewHandler(v.Node, &page.HandlerOptions{URL: "https://192.0.2.1:3333",
		REST: rest.HandlerOptions{Authorize: func(*http.Request, string) error { return nil }}})
	require.NoError(t, err)
	r := httptest.NewRequest("POST", "/clients/new", strings.NewReader("name=gw-1"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	require.Contains(t, html.UnescapeString(w.Body.String()), `"server": "https://192.0.2.1:3333"`)
}

func TestNewHandler_offersWhatTheRoleAllows(t *testing.T) {
	v := newVisit(server(t))
	v.Three(true)
	for path, least := range map[string]string{
		"/": "reader", "/state": "reader", "/history": "reader", "/api/status": "reader", "/new": "operator", "/links/wlan0": "operator",
		"/policy": "operator", "/clients/new": "admin",
	} {
		enough := false
		for _, v.role = range []string{"", "reader", "operator", "admin"} {
			enough = enough || v.role == least
			require.Equal(t, enough, v.get(path).Code == http.StatusOK, "%s as %q", path, v.role)
		}
	}
	v.role = "operator"
	for _, path := range []string{"/clients/new", "/clients/x/enable", "/clients/x/delete", "/attach", "/detach"} {
		require.Equal(t, http.StatusForbidden, v.open("POST", path, url.Values{}).Code, path)
	}
}

// shownEvent is an episode as the script of the page gets it.
type shownEvent struct {
	ID, Type, Peer, State, Text, Span string
	Times                             int
	First, Last                       time.Time
	Events                            []struct {
		Time   time.Time
		Reason string
	}
}

func (v *visit) events() []shownEvent {
	v.T.Helper()
	var state struct{ Events []shownEvent }
	w := v.get("/state")
	require.Equal(v.T, http.StatusOK, w.Code, w.Body)
	require.NoError(v.T, json.Unmarshal(w.Body.Bytes(), &state))
	return state.Events
}

func TestNewHandler_groupsEventsThatFollowEachOtherClosely(t *testing.T) {
	v := newVisit(server(t))
	begin := time.Now().Truncate(time.Second)
	late := func(at time.Duration, link, reason string) {
		v.Plane.Sent <- status.Event{Time: begin.Add(at), Type: "link", Peer: "gw-1", Link: link, State: status.Suspect, Reason: reason}
	}
	for i := range 11 {
		late(time.Duration(i)*500*time.Millisecond, "wlan0", "nothing heard")
		if i%3 == 0 {
			late(time.Duration(i)*500*time.Millisecond, "mesh0", "nothing heard")
		}
	}
	late(5*time.Second, "wlan0", "<i>slow</i>")
	require.Eventually(t, func() bool { all := v.events(); return len(all) == 2 && all[1].Times == 12 }, nodetest.Patience, time.Millisecond)
	first := v.events()[1]
	require.Equal(t, "wlan0 is late: <i>slow</i>", first.Text)
	require.Equal(t, "12 times in 5 s", first.Span, "so long as they last")
	require.Equal(t, "gw-1", first.Peer)
	require.Equal(t, "suspect", first.State)
	require.Len(t, first.Events, 12)
	require.Equal(t, "<i>slow</i>", first.Events[0].Reason, "the newest first")
	page := v.get("/").Body.String()
	require.Contains(t, page, "12 times in 5 s")
	require.NotContains(t, page, "<i>")

	late(9*time.Second, "wlan0", "nothing heard") // grows
	late(15*time.Second, "wlan0", "nothing heard")
	require.Eventually(t, func() bool { return len(v.events()) == 3 }, nodetest.Patience, time.Millisecond)
	all := v.events()
	require.Equal(t, first.ID, all[2].ID, "a group keeps its place")
	require.Equal(t, 13, all[2].Times)
	require.Equal(t, 1, all[0].Times, "more than 5 s later")
	require.Empty(t, all[0].Span)

	v.Plane.Sent <- status.Event{
		Time: begin.Add(16 * time.Second), Type: "link", Peer: "gw-1", Link: "wlan0", State: status.Up, Reason: "good again",
	}
	require.Eventually(t, func() bool { return v.events()[0].State == "up" }, nodetest.Patience, time.Millisecond)
	require.Len(t, v.events(), 3)
	require.Equal(t, "wlan0 was late, and is up again", v.events()[0].Text)
	require.Equal(t, 1, v.events()[0].Times, "the end is not counted")

	for i := range 3000 {
		late(20*time.Second+time.Duration(i)*time.Millisecond, "wlan0", "nothing heard")
	}
	late(30*time.Second, "wwan0", "")
	require.Eventually(t, func() bool { return v.events()[0].Text == "wwan0 is late" }, nodetest.Patience, time.Millisecond)
	require.Len(t, v.events()[1].Events, 50, "more are counted, and not shown")
}

func TestNewHandler_plotsTheLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisit(server(t))
		v.Three(true)
		v.Plane.Set(func(p *nodetest.Plane) {
			p.Reported = multilink.Status{Links: []status.Link{{Name: "wlan0", State: status.Up, RTT: 4 * time.Millisecond, LossRx: .5}}}
		})
		var plot struct {
			Range  string
			Times  []int64
			Series map[string][]*float32
		}
		time.Sleep(5 * time.Second) // of the bubble's clock
		synctest.Wait()
		require.NoError(t, json.Unmarshal(v.get("/history?range=1h").Body.Bytes(), &plot))
		require.Contains(t, plot.Series, "link/wlan0/rtt")
		require.Equal(t, "1h", plot.Range)
		require.Contains(t, plot.Series, "link/wlan0/loss")
		require.Contains(t, plot.Series, "link/wlan0/bits")
		require.NotContains(t, plot.Series, "link/mesh0/rtt", "nothing is known of it")
	})
}
