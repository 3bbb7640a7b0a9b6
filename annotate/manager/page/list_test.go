package page_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/storage"
)

// fail publishes messages that cannot be annotated, and waits until they have failed.
func (s *visit) fail(id string, payloads ...string) {
	s.t.Helper()
	before := s.manager.Stats()[id].Failed
	for _, payload := range payloads {
		require.NoError(s.t, s.broker.Publish(s.t.Context(), annotate.Message{Topic: id + "/in", Payload: []byte(payload)}))
	}
	require.Eventually(s.t, func() bool { return s.manager.Stats()[id].Failed == before+uint64(len(payloads)) },
		managertest.Patience, time.Millisecond)
}

func TestNewHandler_showsWhatFailedAtItsPlace(t *testing.T) {
	s := newVisit(t, nil)
	c := managertest.Channel("a/b")
	c.Mapping.RML = strings.Replace(managertest.Mapping, `[ rml:reference "value" ]`, `[ rml:reference "value"; rr:termType rr:IRI ]`, 1)
	managertest.Create(t, s.manager, c)
	require.Contains(t, s.get("/channels/a%2Fb/failures").Body.String(), "No message has failed")
	s.fail("a/b", `{"id": 1, "value": <script>}`, `[{"id": 2, "value": "no <IRI>"}]`)
	s.fail("a/b", "\x00\xff")
	page := s.get("/channels/a%2Fb/failures").Body.String()
	require.Contains(t, page, "<mark>&lt;script&gt;}</mark>")
	require.NotContains(t, page, "<script>}")
	require.Contains(t, page, "The payload is not text.")
	require.Contains(t, page, `href="../../channels/a%2Fb/failures/3/workbench"`)
	require.Less(t, strings.Index(page, "is no text"), strings.Index(page, "<mark>"), "the newest first")

	var failure struct {
		Number                               uint64
		Payload, Format, Reason, Place, Node string
		Base64, IsCut                        bool
		Bytes                                int
		Time                                 time.Time
	}
	at := func(n string) *httptest.ResponseRecorder { return s.get("/channels/a%2Fb/failures/" + n) }
	require.NoError(t, json.Unmarshal(at("1").Body.Bytes(), &failure))
	require.Equal(t, `{"id": 1, "value": <script>}`, failure.Payload)
	require.Equal(t, "JSON", failure.Format)
	require.Equal(t, "line 1 column 20", failure.Place)
	require.NotEmpty(t, failure.Reason)
	require.WithinDuration(t, time.Now(), failure.Time, managertest.Patience)
	require.False(t, failure.Base64)
	require.NoError(t, json.Unmarshal(at("3").Body.Bytes(), &failure))
	require.True(t, failure.Base64)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("\x00\xff")), failure.Payload)
	for _, n := range []string{"0", "4", "x", "-1"} {
		require.Equal(t, http.StatusNotFound, at(n).Code, n)
	}
}

func TestNewHandler_showsTheSurroundingsOfALongPayload(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, managertest.Channel("long"))
	s.fail("long", `["`+strings.Repeat("ä", 200<<10)+`", x, "`+strings.Repeat("z", 5000)+`"]`)
	page := s.get("/channels/long/failures").Body.String()
	require.Less(t, len(page), 20<<10)
	require.Contains(t, page, "of which the first 262144 are kept")
	var failure struct {
		Payload       string
		IsCut, Base64 bool
		Bytes         int
	}
	require.NoError(t, json.Unmarshal(s.get("/channels/long/failures/1").Body.Bytes(), &failure))
	require.True(t, failure.IsCut)
	require.False(t, failure.Base64, "half a character at the cut is left out")
	require.True(t, strings.HasSuffix(failure.Payload, "ä"))
	require.Equal(t, 400<<10+5000+11, failure.Bytes)
}

func TestNewHandler_linksToWhatFailedForOperators(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, managertest.Channel("c"))
	require.Regexp(t, `data-field="failures" hidden`, s.get("/channels/c").Body.String())
	s.fail("c", "x")
	require.Contains(t, s.get("/channels/c").Body.String(), `href="../channels/c/failures"`)
	require.Equal(t, http.StatusNotFound, s.get("/channels/none/failures").Code)
}

func TestNewHandler_listsShowsAndRemovesAnnotations(t *testing.T) {
	s := newVisit(t, nil)
	require.Contains(t, s.get("/annotations").Body.String(), "No mapping is stored yet.")
	ids := []string{}
	for i := range 103 {
		m := managertest.Channel("").Mapping
		m.Name, m.Description = fmt.Sprintf("<m%d>", i), "a < b"
		id, err := s.manager.Annotations().Add(t.Context(), m)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	first := s.get("/annotations").Body.String()
	require.Equal(t, 100, strings.Count(first, `<th scope="row">`))
	require.NotContains(t, first, "<m0>")
	require.Contains(t, first, "More annotations")
	second := s.get("/annotations?after=" + after(t, first)).Body.String()
	require.Equal(t, 3, strings.Count(second, `<th scope="row">`))
	require.NotContains(t, second, "More annotations")

	page := s.get("/annotations/" + ids[0])
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "&lt;m0&gt;")
	require.Contains(t, page.Body.String(), "map:Observation")
	require.Contains(t, s.get("/new?annotation="+ids[0]).Body.String(), "map:Observation")
	removed := s.post("/annotations/"+ids[0]+"/delete", nil)
	require.Equal(t, http.StatusSeeOther, removed.Code)
	require.Equal(t, "../../annotations", removed.Header().Get("Location"))
	require.Equal(t, http.StatusNotFound, s.get("/annotations/"+ids[0]).Code)
	require.Equal(t, http.StatusNotFound, s.post("/annotations/"+ids[0]+"/delete", nil).Code)
	require.Equal(t, http.StatusNotFound, s.get("/new?annotation="+ids[0]).Code)
}

// after returns where the next page of a list begins.
func after(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "after=")
	require.True(t, ok)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func TestNewHandler_hasNoAnnotationsInStandaloneMode(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), nil))
	s := &visit{t: t, manager: m, handler: http.StripPrefix("/ui/annotation", page.NewHandler(m, nil))}
	require.Contains(t, s.get("/annotations").Body.String(), "standalone mode")
	require.Equal(t, http.StatusNotFound, s.get("/annotations/x").Code)
	require.Equal(t, http.StatusOK, s.get("/new").Code)
}

func TestNewHandler_leafsThroughChannels(t *testing.T) {
	s := newVisit(t, nil)
	for i := range 203 {
		c := managertest.Channel(fmt.Sprintf("c%03d", i))
		c.Stopped = true
		managertest.Create(t, s.manager, c)
	}
	path, seen := "/?q=C&state=stopped", 0
	for pages := 0; ; pages++ {
		page := s.get(path).Body.String()
		require.Contains(t, page, "203 channels match")
		seen += strings.Count(page, "<tr data-id=")
		if !strings.Contains(page, "More channels") {
			require.Equal(t, 2, pages)
			break
		}
		path = "/?q=C&state=stopped&after=" + after(t, page)
	}
	require.Equal(t, 203, seen)
}

// many returns a manager with as many channels, which do not run.
func many(tb testing.TB, n int) *manager.Manager {
	tb.Helper()
	documents := storage.NewMemoryDocuments()
	template := managertest.Channel("id-0")
	template.Stopped = true
	c := managertest.Config(annotate.NewMemoryBroker(nil), documents)
	first, err := manager.New(c)
	require.NoError(tb, err)
	managertest.Run(tb, first)
	_, err = first.Create(tb.Context(), template)
	require.NoError(tb, err)
	stored, err := documents.Get(tb.Context(), "channels/id-0")
	require.NoError(tb, err)
	for i := 1; i < n; i++ {
		id := fmt.Sprintf("id-%05d", i)
		_, err := documents.Create(tb.Context(), "channels/"+id, []byte(strings.ReplaceAll(string(stored.Data), "id-0", id)))
		require.NoError(tb, err)
	}
	m, err := manager.New(c)
	require.NoError(tb, err)
	managertest.Run(tb, m)
	return m
}

// BenchmarkNewHandler opens the list with 10,000 channels, which takes less than 300 ms.
func BenchmarkNewHandler(b *testing.B) {
	h := page.NewHandler(many(b, 10_000), nil)
	for name, path := range map[string]string{
		"list": "/", "search": "/?q=id-099", "state": "/?state=stopped", "poll": "/state", "last": "/?after=id-09900",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				require.Equal(b, http.StatusOK, w.Code)
			}
		})
	}
}
