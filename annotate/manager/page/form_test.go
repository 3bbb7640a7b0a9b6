package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/storage"
)

// fields returns the values of the form on a page, as a browser sends them.
func fields(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	attribute := func(tag, name string) string {
		found := regexp.MustCompile(`\s` + name + `="([^"]*)"`).FindStringSubmatch(tag)
		if found == nil {
			return ""
		}
		return html.UnescapeString(found[1])
	}
	_, page, found := strings.Cut(page, `id="channel-form"`)
	require.True(t, found, page)
	page, _, _ = strings.Cut(page, "</form>")
	for _, input := range regexp.MustCompile(`<input[^>]*>`).FindAllString(page, -1) {
		if name := attribute(input, "name"); name != "" && (attribute(input, "type") != "checkbox" || strings.Contains(input, " checked")) {
			form.Set(name, attribute(input, "value"))
		}
	}
	for _, area := range regexp.MustCompile(`(?s)(<textarea[^>]*>)(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
		text := strings.TrimPrefix(html.UnescapeString(area[2]), "\n")
		form.Set(attribute(area[1], "name"), strings.ReplaceAll(text, "\n", "\r\n"))
	}
	for _, choice := range regexp.MustCompile(`(?s)(<select[^>]*>)(.*?)</select>`).FindAllStringSubmatch(page, -1) {
		options := regexp.MustCompile(`(<option[^>]*)>([^<]*)`).FindAllStringSubmatch(choice[2], -1)
		require.NotEmpty(t, options)
		chosen := options[0]
		for _, option := range options {
			if strings.Contains(option[1], " selected") {
				chosen = option
			}
		}
		value := html.UnescapeString(chosen[2])
		if strings.Contains(chosen[1], "value=") {
			value = attribute(chosen[1], "value")
		}
		form.Set(attribute(choice[1], "name"), value)
	}
	form.Set("action", "create")
	return form
}

// full is a channel with everything that a form can show.
func full(id string) manager.ChannelConfig {
	c := managertest.WithSideTopics(managertest.Channel(id))
	c.Input.Settings = mqtt.Settings{Protocol: "tls", Host: "a.example", Port: 8883, Version: mqtt.Version5, ClientID: "in-" + id,
		ShareName: "s", User: managertest.Leaks()[2], Password: managertest.Leaks()[3]}
	c.Output.Settings = mqtt.Settings{Protocol: "tcp", Host: "b.example", Port: 1883, User: "<o>", Password: managertest.Leaks()[1]}
	c.Error.Settings = mqtt.Settings{Protocol: "tls", Host: "a.example", Port: 8883, Version: mqtt.Version5,
		User: managertest.Leaks()[2], Password: managertest.Leaks()[3]}
	c.Metadata = manager.Metadata{Name: `A <b>"name"</b>`, Author: "Ada", Description: "d\nsecond", Tags: []string{"x", "y"}}
	c.Mapping.Name = "mapping"
	c.Mapping.Author = "Bob"
	c.Mapping.Tags = []string{"z"}
	c.ErrorFormat = annotate.ErrorJSON
	c.Parallelism = 3
	c.BufferSize = 33
	c.Stopped = true
	return c
}

// watched returns a channel whose values begin like the names of monitoring topics.
func watched() manager.ChannelConfig {
	c := full("watched")
	c.Input.Name = "monitoring/lamps"
	c.Metadata.Name = "monitoring of lamps"
	c.Metadata.Tags = []string{"monitoring", "x"}
	c.Mapping.Name = "monitoring mapping"
	c.Mapping.RML = strings.Replace(c.Mapping.RML, "\n", "\n# \"monitoring\"\n", 1)
	return c
}

func TestNewHandler_editsNothingThatIsNotTouched(t *testing.T) {
	s := newVisit(t, nil)
	for _, c := range []manager.ChannelConfig{full("full"), managertest.Channel("plain/with slash"), watched()} {
		managertest.Create(t, s.manager, c)
		before, err := s.manager.Get(c.ID)
		require.NoError(t, err)
		at := "/channels/" + url.PathEscape(c.ID)
		page := s.get(at + "/edit")
		require.Equal(t, http.StatusOK, page.Code, page.Body)
		managertest.RequireNoLeak(t, "form", page.Body.String())
		require.NotContains(t, page.Body.String(), `<b>"name"`)
		saved := s.post(at+"/edit", fields(t, page.Body.String()))
		require.Equal(t, http.StatusSeeOther, saved.Code, saved.Body)
		require.Equal(t, "../"+url.PathEscape(c.ID), saved.Header().Get("Location"))
		after, err := s.manager.Get(c.ID)
		require.NoError(t, err)
		require.Equal(t, normal(before), normal(after))
	}
}

// normal returns a channel with what a form does not distinguish made equal.
func normal(c manager.Channel) manager.ChannelConfig {
	c.Metadata.Tags = append([]string{}, c.Metadata.Tags...)
	c.Mapping.Tags = append([]string{}, c.Mapping.Tags...)
	return c.ChannelConfig
}

func TestNewHandler_editsAChannel(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, full("c"))
	form := fields(t, s.get("/channels/c/edit").Body.String())
	require.Empty(t, form.Get("errorBroker"), "the error topic is at the broker of the input")
	require.Equal(t, "MQTT", form.Get("outputBroker"))
	form.Set("name", "new name")
	form.Set("inputTopic", "c/elsewhere")
	form.Set("input.MQTT.host", "c.example")
	form.Set("input.MQTT.user", "")
	refused := s.post("/channels/c/edit", form)
	require.Equal(t, http.StatusUnprocessableEntity, refused.Code)
	require.Contains(t, refused.Body.String(), "was given for another address")
	require.Regexp(t, `id="input\.MQTT\.user"[^>]*aria-invalid="true"`, refused.Body.String())

	form.Set("input.MQTT.user", "u2")
	form.Set("input.MQTT.password", "p2")
	form.Set("output.MQTT.clear", "1")
	require.Equal(t, http.StatusSeeOther, s.post("/channels/c/edit", form).Code)
	c, err := s.manager.Get("c")
	require.NoError(t, err)
	require.Equal(t, "new name", c.Metadata.Name)
	in := c.Input.Settings.(mqtt.Settings)
	out := c.Output.Settings.(mqtt.Settings)
	failures := c.Error.Settings.(mqtt.Settings)
	require.Equal(t, "c.example u2 p2 s", strings.Join([]string{in.Host, in.User, in.Password, in.ShareName}, " "))
	require.NotEqual(t, "in-c", in.ClientID, "another topic is another subscription")
	require.Equal(t, "c.example u2 p2", strings.Join([]string{failures.Host, failures.User, failures.Password}, " "), "it goes along")
	require.Equal(t, "b.example", out.Host)
	require.Empty(t, out.User+out.Password)
}

func TestNewHandler_refusesAnEditOfAnOldState(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, managertest.Channel("c"))
	form := fields(t, s.get("/channels/c/edit").Body.String())
	other := fields(t, s.get("/channels/c/edit").Body.String())
	other.Set("description", "of another person")
	require.Equal(t, http.StatusSeeOther, s.post("/channels/c/edit", other).Code)
	form.Set("description", "mine")
	w := s.post("/channels/c/edit", form)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, w.Body.String(), "was changed meanwhile")
	require.Contains(t, w.Body.String(), "mine</textarea>")
	require.Equal(t, http.StatusSeeOther, s.post("/channels/c/edit", fields(t, w.Body.String())).Code, "a second time it is meant")
	require.Equal(t, http.StatusNotFound, s.get("/channels/none/edit").Code)
	require.Equal(t, http.StatusNotFound, s.post("/channels/none/edit", form).Code)
}

func TestNewHandler_saysAtTheFieldOfABrokerWhatIsWrong(t *testing.T) {
	s := newVisit(t, nil)
	for field, value := range map[string]string{
		"input.MQTT.port": "99999", "input.MQTT.version": "4", "parallelism": "x", "outputTopic": "#",
	} {
		form := channelForm("new")
		form.Set(field, value)
		w := s.post("/new", form)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, field)
		require.Regexp(t, `id="`+regexp.QuoteMeta(field)+`"[^>]*aria-invalid="true"`, w.Body.String())
	}
	form := channelForm("new")
	form.Set("outputBroker", "KAFKA")
	form.Set("output.KAFKA.protocol", "SASL_SSL")
	form.Set("outputTopic", "out")
	require.Regexp(t, `id="output\.KAFKA\.user"[^>]*aria-invalid="true"`, s.post("/new", form).Body.String())
}

func TestNewHandler_suggestsIdentifiersThatNeedNoEscapes(t *testing.T) {
	s := newVisit(t, nil)
	form := channelForm("")
	form.Set("inputTopic", "sensors/+/ä b/json")
	form.Set("outputTopic", "sensors/rdf")
	form.Set("errorTopic", "")
	w := s.post("/new", form)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Regexp(t, `^channels/[A-Za-z0-9._~-]+$`, w.Header().Get("Location"))
	require.Equal(t, http.StatusOK, s.get("/"+w.Header().Get("Location")).Code)
}

// tried are the connections of a form.
type tried []struct {
	Topic, At, Reason string
	OK                bool
}

func (s *visit) connect(form url.Values) tried {
	w := s.post("/connections", form)
	require.Equal(s.t, http.StatusOK, w.Code, w.Body)
	var answer tried
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer
}

func TestNewHandler_triesConnections(t *testing.T) {
	s := newVisit(t, nil)
	form := url.Values{"inputBroker": {"MQTT"}, "inputTopic": {"t"}}
	require.Equal(t, tried{{Topic: "Input", At: "tcp://127.0.0.1:1883", OK: true}}, s.connect(form), "before there is a mapping")
	s.broker.Down()
	form = channelForm("new")
	form.Set("input.MQTT.host", "a.example")
	answer := s.connect(form)
	require.Len(t, answer, 3)
	for _, one := range answer {
		require.False(t, one.OK)
		require.Equal(t, "tcp://a.example:1883", one.At)
		require.Contains(t, one.Reason, "unavailable")
	}
	form.Set("action", "connect")
	page := s.post("/new", form)
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "Output: cannot connect to")
	require.Contains(t, page.Body.String(), `value="a.example"`, "what was typed stays")
	require.Empty(t, slices.Collect(s.manager.All()))
	require.Equal(t, http.StatusUnprocessableEntity, s.post("/connections", url.Values{"inputBroker": {"MQTT"}}).Code)
	require.Equal(t, http.StatusNotFound, s.post("/connections", url.Values{"channel": {"none"}}).Code)
}

// The answer of a connection that is tried is that of the status of a channel.
func TestNewHandler_tellsNoMoreThanMakingTheChannel(t *testing.T) {
	hosts, err := annotate.NewBrokerHosts([]string{"allowed.example"}, "-broker-hosts")
	require.NoError(t, err)
	c := managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments())
	c.Drivers = []annotate.Driver{mqtt.Driver(mqtt.New(&mqtt.Options{Hosts: hosts}), nil)}
	m, _ := managertest.Start(t, c)
	s := &visit{t: t, manager: m, handler: http.StripPrefix("/ui/annotation", page.NewHandler(m, nil))}
	form := channelForm("new")
	form.Set("input.MQTT.host", "127.0.0.1")
	made, tested := s.post("/new", form), s.post("/connections", form)
	require.Equal(t, http.StatusUnprocessableEntity, made.Code)
	require.Equal(t, http.StatusOK, tested.Code)
	for _, w := range []*httptest.ResponseRecorder{made, tested} {
		require.Contains(t, html.UnescapeString(w.Body.String()), "is not a broker that channels may use")
	}
}

func TestNewHandler_triesConnectionsOfAChannelWithItsSecrets(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, full("c"))
	form := fields(t, s.get("/channels/c/edit").Body.String())
	require.Len(t, s.connect(form), 5)
	form.Set("action", "connect")
	page := s.post("/channels/c/edit", form).Body.String()
	require.Equal(t, 5, strings.Count(page, "connected to"))
	managertest.RequireNoLeak(t, "page", page)
	form.Set("input.MQTT.host", "evil.example")
	w := s.post("/connections", form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, "the password goes to no other host")
	require.Contains(t, w.Body.String(), "another address")
}

func TestNewHandler_requiresTheRoleOfEveryRoute(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Access{
		Handler:   page.NewHandler(m, &rest.HandlerOptions{Authorize: httpapitest.Authorize}),
		Documents: map[string]string{"/api/openapi.json": "/api"},
		Undocumented: map[string]string{
			"GET /": "reader", "GET /state": "reader", "GET /history": "reader", "GET /page/look.css": "public",
			"GET /new": "operator", "POST /new": "operator", "POST /connections": "operator",
			"GET /channels/some": "reader", "GET /channels/some/state": "reader",
			"GET /channels/some/edit": "operator", "POST /channels/some/edit": "operator",
			"GET /channels/some/failures": "operator", "GET /channels/some/failures/1": "operator",
			"POST /channels/some/start": "operator", "POST /channels/some/stop": "operator",
			"POST /channels/some/restart": "operator", "POST /channels/some/delete": "operator",
			"GET /annotations": "reader", "GET /annotations/some": "reader",
			"POST /annotations": "operator", "POST /annotations/some/delete": "operator",
		},
	}.Check(t)
}

func TestNewHandler_refusesRequestsOfPagesElsewhere(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	httpapitest.Guarded{New: func(hosts ...string) http.Handler { return page.NewHandler(m, &rest.HandlerOptions{Hosts: hosts}) },
		Read: "/", Link: "/", Change: []string{"POST /new", "POST /connections", "POST /channels/some/edit", "POST /channels/some/stop",
			"POST /channels/some/delete", "POST /annotations/some/delete", "DELETE /api/channels/some"},
	}.Check(t)
}

// heldDocuments are documents whose updates wait until they may go on.
type heldDocuments struct {
	storage.Documents
	mayUpdate chan struct{}
}

func (d heldDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	<-d.mayUpdate
	return d.Documents.Update(ctx, key, prev, data)
}

// lateBody is the body of a request that reports when it was read.
type lateBody struct {
	*strings.Reader
	arrived chan<- struct{}
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.arrived <- struct{}{}
	}
	return n, err
}

func TestNewHandler_savesOneOfTwoEditsAtATime(t *testing.T) {
	documents := heldDocuments{storage.NewMemoryDocuments(), make(chan struct{})}
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, documents))
	s := &visit{t: t, manager: m, broker: b, handler: http.StripPrefix("/ui/annotation", page.NewHandler(m, nil))}
	managertest.Create(t, m, managertest.Channel("c"))
	page := s.get("/channels/c/edit").Body.String()
	const editors = 8
	arrived := make(chan struct{}, editors)
	var saved, refused atomic.Int32
	var saving sync.WaitGroup
	for i := range editors {
		form := fields(t, page)
		form.Set("outputTopic", fmt.Sprintf("c/out%d", i))
		saving.Go(func() {
			r := httptest.NewRequest("POST", "/ui/annotation/channels/c/edit", lateBody{strings.NewReader(form.Encode()), arrived})
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			switch w.Code {
			case http.StatusSeeOther:
				saved.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			}
		})
	}
	for range editors {
		<-arrived // all of them have the form as it was
	}
	close(documents.mayUpdate)
	saving.Wait()
	require.Equal(t, int32(1), saved.Load())
	require.Equal(t, int32(editors-1), refused.Load())
}
