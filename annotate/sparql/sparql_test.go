package sparql_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/sparql"
)

const topicName = "https://example.org/graphs"

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 30 * time.Second

func TestDriver_settingsPassTheSuite(t *testing.T) {
	const good = `"protocol": "update", "url": "https://h/update"`
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: sparql.Driver(nil), Topic: topicName,
		Good:    `{"protocol": "update", "url": "https://h:1/update?db=1", "user": "u", "password": "p", "token": "t"}`,
		Checked: `{` + good + `, "token": "t"}`,
		Free:    []string{"protocol"},
		Bad: map[string]string{
			"protocol": `{"protocol": "query", "url": "https://h"}`, "url": `{"protocol": "update"}`,
			"user": `{` + good + `, "user": 1}`, "password": `{` + good + `, "password": 1}`, "token": `{` + good + `, "token": 1}`,
		},
	})
}

func outputTopic(s sparql.Settings) annotate.Topic {
	return annotate.Topic{Name: topicName, Broker: sparql.Type, Settings: s}
}

func TestDriver_refusesWhatNoStoreHas(t *testing.T) {
	hosts, err := annotate.NewBrokerHosts([]string{"h"}, "-broker-hosts")
	require.NoError(t, err)
	driver := sparql.Driver(sparql.New(&sparql.Options{Hosts: hosts}))
	good := sparql.Settings{Protocol: sparql.GraphStore, URL: "https://h/data"}
	require.NoError(t, driver.Settings.Check(outputTopic(good), annotate.OutputTopic))
	for _, c := range []struct {
		change func(*sparql.Settings)
		field  string
	}{
		{func(s *sparql.Settings) { s.URL = "ftp://h" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://u:hidden@h" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://h#f" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://h/data#" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://h/data?graph=urn:a" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://h/data?default" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://h:99999" }, "url"},
		{func(s *sparql.Settings) { s.URL = "http://127.0.0.1" }, "url"},
		{func(s *sparql.Settings) { s.Protocol = "" }, "protocol"},
		{func(s *sparql.Settings) { s.User, s.Token = "u", "hidden" }, "token"},
		{func(s *sparql.Settings) { s.Token = "hid den" }, "token"},
		{func(s *sparql.Settings) { s.Password = "hidden" }, "user"},
		{func(s *sparql.Settings) { s.User = "a:b" }, "user"},
	} {
		s := good
		c.change(&s)
		err := driver.Settings.Check(outputTopic(s), annotate.OutputTopic)
		var field *annotate.FieldError
		require.ErrorAs(t, err, &field, s.URL)
		require.Equal(t, "sparqlSettings."+c.field, field.Field)
		require.NotContains(t, err.Error(), "hid")
	}
	topic := outputTopic(good)
	for _, name := range []string{"", "weather/out", "https://e/<x>", "https://e/a b"} {
		topic.Name = name
		require.ErrorContains(t, driver.Settings.Check(topic, annotate.OutputTopic), "topic: expected an absolute IRI", name)
	}
}

// server is a stand-in for a store, which records what it is sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	answer func(r *http.Request, body string) int
}

func startServer(t *testing.T, answer func(r *http.Request, body string) int) *server {
	s := &server{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, r.Method+" "+r.URL.Query().Get("graph")+" "+string(body))
		status := s.answer(r, string(body))
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		if status >= 400 {
			_, _ = fmt.Fprintf(w, "no:\n%s", r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func always(status int) func(*http.Request, string) int {
	return func(*http.Request, string) int { return status }
}

func connect(t *testing.T, s sparql.Settings) (annotate.Publisher, error) {
	t.Helper()
	p, err := sparql.New(&sparql.Options{RetryMin: time.Millisecond, RetryMax: 2 * time.Millisecond}).
		Connect(t.Context(), outputTopic(s), annotate.ConnectOptions{})
	if err == nil {
		t.Cleanup(func() { _ = p.Close(t.Context()) })
	}
	return p, err
}

// publish publishes documents and returns what they are confirmed with.
func publish(t *testing.T, p annotate.Publisher, documents ...string) []error {
	t.Helper()
	var outcomes []error
	for i, d := range documents {
		m := annotate.Message{ID: fmt.Sprint(i), Payload: []byte(d)}
		require.NoError(t, p.Publish(t.Context(), m, func(err error) { outcomes = append(outcomes, err) }))
	}
	require.NoError(t, p.Close(t.Context()))
	return outcomes
}

const statement = "<https://e/s> <https://e/p> %s .\n"

func TestBroker_Connect_findsTheMessageThatIsRefused(t *testing.T) {
	s := startServer(t, func(_ *http.Request, body string) int {
		if strings.Contains(body, "poison") {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	p, err := connect(t, sparql.Settings{Protocol: sparql.Update, URL: s.URL})
	require.NoError(t, err)
	var documents []string
	for i := range 20 {
		value := fmt.Sprintf(`"value %d"`, i)
		if i == 13 {
			value = `"poison"`
		}
		documents = append(documents, fmt.Sprintf(statement, value))
	}
	for i, err := range publish(t, p, documents...) {
		if i == 13 {
			require.ErrorContains(t, err, "400 Bad Request: no:")
			require.NotErrorIs(t, err, annotate.ErrBrokerUnavailable)
			continue
		}
		require.NoError(t, err, i)
	}
	kept := ""
	for _, body := range s.sent() {
		if !strings.Contains(body, "poison") {
			kept += body
		}
	}
	for i := range 20 {
		require.Equal(t, i != 13, strings.Contains(kept, fmt.Sprintf(`"value %d"`, i)), i)
	}
}

func TestBroker_Connect_writesAgainUntilTheStoreConfirms(t *testing.T) {
	for _, protocol := range []string{sparql.Update, sparql.GraphStore} {
		failures := 0
		s := startServer(t, func(_ *http.Request, body string) int {
			if failures++; strings.Contains(body, "value") && failures < 8 {
				return []int{500, 503, 429, 401, 404, 202}[failures%6]
			}
			return http.StatusNoContent
		})
		p, err := connect(t, sparql.Settings{Protocol: protocol, URL: s.URL})
		require.NoError(t, err)
		require.Equal(t, []error{nil}, publish(t, p, fmt.Sprintf(statement, `"value"`)), protocol)
		require.Contains(t, s.sent()[len(s.sent())-1], "value")
	}
}

func TestBroker_Connect_replacesAGraphForEachMessage(t *testing.T) {
	s := startServer(t, func(r *http.Request, body string) int {
		switch {
		case r.Method == http.MethodDelete:
			return http.StatusNotFound
		case strings.Contains(body, "poison"):
			return http.StatusUnprocessableEntity
		}
		return http.StatusCreated
	})
	p, err := connect(t, sparql.Settings{Protocol: sparql.GraphStore, URL: s.URL + "/data?db=1"})
	require.NoError(t, err)
	outcomes := publish(t, p, fmt.Sprintf(statement, `"a"`), "", fmt.Sprintf(statement, `"poison"`),
		`<https://e/s> <https://e/p> "b" <https://e/g> .`)
	require.NoError(t, outcomes[0])
	require.NoError(t, outcomes[1])
	require.ErrorContains(t, outcomes[2], "422")
	require.ErrorContains(t, outcomes[3], `graph "https://e/g"`)
	require.Contains(t, s.sent(), "PUT "+topicName+"/0 "+fmt.Sprintf(statement, `"a"`))
	require.Contains(t, s.sent(), "DELETE "+topicName+"/1 ")
}

func TestBroker_Connect_writesOneGraphInTheOrderOfItsMessages(t *testing.T) {
	s := startServer(t, always(http.StatusNoContent))
	p, err := connect(t, sparql.Settings{Protocol: sparql.GraphStore, URL: s.URL})
	require.NoError(t, err)
	const n = 100
	for i := range n {
		m := annotate.Message{ID: fmt.Sprint(i / 3 % 2), Payload: fmt.Appendf(nil, statement, fmt.Sprintf(`"%d"`, i))}
		require.NoError(t, p.Publish(t.Context(), m, func(error) {}))
	}
	require.NoError(t, p.Close(t.Context()))
	last := map[string]int{}
	for _, body := range s.sent()[2:] { // after the check of the connection
		graph, value, _ := strings.Cut(strings.TrimPrefix(body, "PUT "+topicName+"/"), " <https://e/s> <https://e/p> ")
		var i int
		_, err := fmt.Sscanf(value, `"%d"`, &i)
		require.NoError(t, err, body)
		require.Equal(t, graph, fmt.Sprint(i/3%2))
		require.GreaterOrEqual(t, i, last[graph], "written after a later message of its graph")
		last[graph] = i
	}
}

func TestBroker_Connect_passesTheTraceOfAMessageOn(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, protocol := range []string{sparql.Update, sparql.GraphStore} {
		var parents []string
		s := startServer(t, func(r *http.Request, _ string) int {
			parents = append(parents, r.Header.Get("traceparent"))
			return http.StatusNoContent
		})
		p, err := connect(t, sparql.Settings{Protocol: protocol, URL: s.URL})
		require.NoError(t, err)
		m := annotate.Message{ID: "1", Payload: fmt.Appendf(nil, statement, `"1"`), Trace: annotate.Trace{Parent: parent}}
		require.NoError(t, p.Publish(t.Context(), m, func(error) {}))
		require.NoError(t, p.Close(t.Context()))
		s.mu.Lock()
		require.Equal(t, parent, parents[len(parents)-1], protocol)
		s.mu.Unlock()
	}
}

func TestBroker_Connect_keepsTermsApart(t *testing.T) {
	s := startServer(t, always(http.StatusOK))
	p, err := connect(t, sparql.Settings{Protocol: sparql.Update, URL: s.URL})
	require.NoError(t, err)
	outcomes := publish(t, p, "_:x <https://e/p> _:y .\n", "_:x <https://e/p> \"a\\\"b\\\\u0041\\nc\"@en .\n",
		`<https://e/\u003E> <https://e/p> "1"^^<https://e/d> .`)
	require.NoError(t, outcomes[0])
	require.NoError(t, outcomes[1])
	require.Error(t, outcomes[2])
	all := strings.Join(s.sent(), "")
	require.Regexp(t, `_:m\db0 <https://e/p> _:m\db1 \.`, all)
	require.Contains(t, all, `<https://e/p> "a\"b\\\u00750041\nc"@en .`)
	require.NotContains(t, all, "<https://e/>")
}

func TestBroker_Connect_saysWhatIsWrongWithoutCredentials(t *testing.T) {
	for status, want := range map[int]string{
		401: "credentials are wrong", 403: "credentials are wrong", 404: "no endpoint of the protocol", 202: "does not confirm",
		400: "400 Bad Request", 307: "redirected to another server",
	} {
		s := startServer(t, always(status))
		for _, protocol := range []string{sparql.Update, sparql.GraphStore} {
			_, err := connect(t, sparql.Settings{Protocol: protocol, URL: s.URL + "?key=hidden", Token: "hidden"})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hidden")
		}
	}
	_, err := sparql.New(nil).Subscribe(t.Context(), outputTopic(sparql.Settings{}), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "only be the output")
}

func TestBroker_Connect_reachesNoHostOffTheList(t *testing.T) {
	s := startServer(t, always(http.StatusOK))
	hosts, err := annotate.NewBrokerHosts([]string{"10.0.0.0/8"}, "-broker-hosts")
	require.NoError(t, err)
	_, err = sparql.New(&sparql.Options{Hosts: hosts}).Connect(t.Context(),
		outputTopic(sparql.Settings{Protocol: sparql.Update, URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1)}),
		annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerNotListed)
	require.Empty(t, s.sent())
}

func TestBroker_Connect_confirmsWhatIsLeftWithAnError(t *testing.T) {
	s := startServer(t, func(_ *http.Request, body string) int {
		if strings.Contains(body, "value") {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	p, err := connect(t, sparql.Settings{Protocol: sparql.Update, URL: s.URL})
	require.NoError(t, err)
	outcome := make(chan error, 1)
	m := annotate.Message{ID: "1", Payload: fmt.Appendf(nil, statement, `"value"`)}
	require.NoError(t, p.Publish(t.Context(), m, func(err error) { outcome <- err }))
	require.Eventually(t, func() bool { return p.Health() != nil }, patience, time.Millisecond)
	require.ErrorContains(t, p.Health(), "503")
	require.ErrorContains(t, p.Publish(t.Context(), annotate.Message{Topic: "other"}, nil), "the connection is to")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, p.Close(ctx))
	require.ErrorIs(t, <-outcome, annotate.ErrBrokerClosed)
	require.ErrorIs(t, p.Publish(t.Context(), m, nil), annotate.ErrBrokerClosed)
	require.ErrorIs(t, p.Health(), annotate.ErrBrokerClosed)
}
