package page_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

// visit is the pages of a manager, as a browser without scripts uses them.
type visit struct {
	t       *testing.T
	manager *manager.Manager
	broker  *annotate.MemoryBroker
	handler http.Handler
}

func newVisit(t *testing.T, opts *rest.HandlerOptions) *visit {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	return &visit{t: t, manager: m, broker: b, handler: http.StripPrefix("/ui/annotation", page.NewHandler(m, opts))}
}

func (s *visit) get(path string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", "/ui/annotation"+path, nil), httptest.NewRecorder()
	r.Header.Set("Accept", "text/html")
	s.handler.ServeHTTP(w, r)
	return w
}

func (s *visit) post(path string, form url.Values) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("POST", "/ui/annotation"+path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.handler.ServeHTTP(w, r)
	return w
}

// channelForm is the form of a channel that can be created.
func channelForm(id string) url.Values {
	return url.Values{"action": {"create"}, "id": {id}, "name": {"Name of " + id}, "inputBroker": {"MQTT"}, "inputTopic": {id + "/in"},
		"outputTopic": {id + "/out"}, "errorTopic": {id + "/errors"}, "inputFormat": {"JSON"}, "outputFormat": {"NTRIPLES"},
		"rml": {managertest.Mapping}}
}

func TestNewHandler_formsOfferEveryFormat(t *testing.T) {
	s := newVisit(t, nil)
	for _, path := range []string{"/new", "/workbench"} {
		page := s.get(path).Body.String()
		_, list, found := strings.Cut(page, `<select id="outputFormat"`)
		require.True(t, found, path)
		list, _, _ = strings.Cut(list, "</select>")
		for _, format := range annotate.OutputFormats() {
			require.Contains(t, list, ">"+string(format)+"</option>", path)
		}
	}
}

func TestNewHandler_saysWhatToDoWithoutChannels(t *testing.T) {
	s := newVisit(t, nil)
	page := s.get("/").Body.String()
	require.Contains(t, page, "No channels yet.")
	require.Contains(t, page, `href="./new"`)
}

func TestNewHandler_makesAndChangesAChannel(t *testing.T) {
	s := newVisit(t, nil)
	made := s.post("/new", channelForm("a b/c<d>"))
	require.Equal(t, http.StatusSeeOther, made.Code, made.Body)
	require.Equal(t, "channels/a%20b%2Fc%3Cd%3E", made.Header().Get("Location"))
	managertest.Publish(t, s.broker, "a b/c<d>/in", 0, 3)
	managertest.Await(t, s.broker, "a b/c<d>/out", 3)

	page := s.get("/channels/a%20b%2Fc%3Cd%3E")
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "Name of a b/c&lt;d&gt;")
	require.NotContains(t, page.Body.String(), "<d>")
	require.Contains(t, page.Body.String(), "a b/c&lt;d&gt;/errors")

	for _, step := range []struct {
		action  string
		stopped bool
	}{{"stop", true}, {"start", false}, {"restart", false}} {
		w := s.post("/channels/a%20b%2Fc%3Cd%3E/"+step.action, nil)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "../a%20b%2Fc%3Cd%3E", w.Header().Get("Location"))
		c, err := s.manager.Get("a b/c<d>")
		require.NoError(t, err)
		require.Equal(t, step.stopped, c.Status.Stopped, step.action)
	}
	require.Equal(t, http.StatusSeeOther, s.post("/channels/a%20b%2Fc%3Cd%3E/delete", nil).Code)
	gone := s.get("/channels/a%20b%2Fc%3Cd%3E")
	require.Equal(t, http.StatusNotFound, gone.Code)
	require.Contains(t, gone.Body.String(), "All channels")
}

func TestNewHandler_saysAtTheFieldWhatIsWrong(t *testing.T) {
	s := newVisit(t, nil)
	require.Equal(t, http.StatusSeeOther, s.post("/new", channelForm("taken")).Code)
	for field, value := range map[string]string{"inputTopic": "", "rml": "@prefix", "id": "taken"} {
		form := channelForm("new")
		form.Set(field, value)
		form.Set("description", "<kept>")
		w := s.post("/new", form)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, field)
		require.Regexp(t, `id="`+field+`"[^>]*aria-invalid="true"`, w.Body.String())
		require.Contains(t, w.Body.String(), "&lt;kept&gt;", "what was typed stays")
	}
	require.Len(t, slices.Collect(s.manager.All()), 1)
}

func TestNewHandler_suggestsAMapping(t *testing.T) {
	s := newVisit(t, nil)
	form := channelForm("new")
	form.Set("action", "suggest")
	form.Set("sample", `{"id":"d1","temp":21.5}`)
	page := s.post("/new", form).Body.String()
	require.Contains(t, page, "ex:temp")
	form.Set("sample", `{"id":`)
	w := s.post("/new", form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "byte 6: unexpected EOF")
	require.Empty(t, slices.Collect(s.manager.All()))
}

func TestNewHandler_listsAPageOfChannels(t *testing.T) {
	s := newVisit(t, nil)
	for i := range 3 {
		form := channelForm("c" + string(rune('0'+i)))
		form.Set("stopped", "1")
		require.Equal(t, http.StatusSeeOther, s.post("/new", form).Code)
	}
	require.Contains(t, s.get("/?q=C1").Body.String(), "1 channel match")
	require.Contains(t, s.get("/?state=stopped").Body.String(), "3 channels")
	require.Contains(t, s.get("/?state=running").Body.String(), "0 channels")
	var rows []struct{ ID, State string }
	require.NoError(t, json.Unmarshal(s.get("/state?q=c2").Body.Bytes(), &rows))
	require.Equal(t, []struct{ ID, State string }{{"c2", "stopped"}}, rows)
	require.JSONEq(t, "[]", s.get("/state?q=none").Body.String())
}

func TestNewHandler_hasTheInterfaceForItsScripts(t *testing.T) {
	s := newVisit(t, nil)
	require.Equal(t, http.StatusSeeOther, s.post("/new", channelForm("one")).Code)
	require.JSONEq(t, `{"one":{}}`, s.get("/api/channels").Body.String())
	require.Contains(t, s.get("/history?range=1h").Body.String(), `"range":"1h"`)
}

func TestNewHandler_requiresRoles(t *testing.T) {
	s := newVisit(t, &rest.HandlerOptions{Authorize: httpapitest.Authorize})
	for _, path := range []string{"/", "/new", "/workbench", "/state", "/channels/x", "/history"} {
		require.Equal(t, http.StatusUnauthorized, s.get(path).Code, path)
	}
	for _, path := range []string{"/new", "/channels/x/stop", "/channels/x/delete", "/workbench/run", "/annotations"} {
		require.Equal(t, http.StatusUnauthorized, s.post(path, nil).Code, path)
	}
	require.Equal(t, http.StatusOK, s.get("/page/look.css").Code)
}
