package ngsild_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/ngsild"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 30 * time.Second

const (
	topicName = "https://example.org/sets/"
	typed     = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://e/T> .\n"
)

func TestDriver_settingsPassTheSuite(t *testing.T) {
	const good = `"url": "https://h/broker"`
	brokertest.Settings(t, brokertest.SettingsHarness{
		Driver: ngsild.Driver(nil), Topic: topicName,
		Good: `{"url": "https://h:1/broker", "tenant": "t", "context": "https://c/d", "mode": "replace",
			"user": "u", "password": "p", "token": "t"}`,
		Checked: `{` + good + `, "token": "t", "mode": "update"}`,
		Free:    []string{"tenant", "context", "mode"},
		Bad: map[string]string{
			"url": `{"tenant": "t"}`, "tenant": `{` + good + `, "tenant": 1}`, "context": `{` + good + `, "context": 1}`,
			"mode": `{` + good + `, "mode": 1}`,
			"user": `{` + good + `, "user": 1}`, "password": `{` + good + `, "password": 1}`, "token": `{` + good + `, "token": 1}`,
		},
	})
}

func outputTopic(s ngsild.Settings) annotate.Topic {
	return annotate.Topic{Name: topicName, Broker: ngsild.Type, Settings: s}
}

func TestDriver_refusesWhatNoBrokerHas(t *testing.T) {
	hosts, err := annotate.NewBrokerHosts([]string{"h"}, "-broker-hosts")
	require.NoError(t, err)
	driver := ngsild.Driver(ngsild.New(&ngsild.Options{Hosts: hosts}))
	good := ngsild.Settings{URL: "https://h", Mode: ngsild.Update}
	require.NoError(t, driver.Settings.Check(outputTopic(good), annotate.OutputTopic))
	for _, c := range []struct {
		change func(*ngsild.Settings)
		field  string
	}{
		{func(s *ngsild.Settings) { s.URL = "ftp://h" }, "url"},
		{func(s *ngsild.Settings) { s.URL = "http://h?q" }, "url"},
		{func(s *ngsild.Settings) { s.URL = "http://h/?" }, "url"},
		{func(s *ngsild.Settings) { s.URL = "http://h/#" }, "url"},
		{func(s *ngsild.Settings) { s.Context = "https://u:hidden@c/d.jsonld" }, "context"},
		{func(s *ngsild.Settings) { s.URL = "http://h/ngsi-ld/v1/" }, "url"},
		{func(s *ngsild.Settings) { s.URL = "http://127.0.0.1" }, "url"},
		{func(s *ngsild.Settings) { s.Mode = "merge" }, "mode"},
		{func(s *ngsild.Settings) { s.Tenant = "a b" }, "tenant"},
		{func(s *ngsild.Settings) { s.Tenant = "a\nb" }, "tenant"},
		{func(s *ngsild.Settings) { s.Context = "context.jsonld" }, "context"},
		{func(s *ngsild.Settings) { s.Context = "https://c/>;" }, "context"},
		{func(s *ngsild.Settings) { s.Password = "hidden" }, "user"},
		{func(s *ngsild.Settings) { s.User, s.Token = "u", "hidden" }, "token"},
	} {
		s := good
		c.change(&s)
		err := driver.Settings.Check(outputTopic(s), annotate.OutputTopic)
		var field *annotate.FieldError
		require.ErrorAs(t, err, &field, "%+v", s)
		require.Equal(t, "ngsildSettings."+c.field, field.Field)
		require.NotContains(t, err.Error(), "hid")
	}
	topic := outputTopic(good)
	for _, name := range []string{"", "weather/out", "https://e/<x>", "ngsi-ld:x"} {
		topic.Name = name
		require.ErrorContains(t, driver.Settings.Check(topic, annotate.OutputTopic), "topic: expected an absolute IRI", name)
	}
}

func connect(t *testing.T, s ngsild.Settings) (annotate.Publisher, error) {
	t.Helper()
	p, err := ngsild.New(&ngsild.Options{RetryMin: time.Millisecond, RetryMax: 2 * time.Millisecond}).
		Connect(t.Context(), outputTopic(s), annotate.ConnectOptions{})
	if err == nil {
		t.Cleanup(func() { _ = p.Close(t.Context()) })
	}
	return p, err
}

// publish publishes documents and returns what they are confirmed with.
func publish(t *testing.T, s ngsild.Settings, documents ...string) []error {
	t.Helper()
	p, err := connect(t, s)
	require.NoError(t, err)
	var outcomes []error
	for _, d := range documents {
		require.NoError(t, p.Publish(t.Context(), annotate.Message{Payload: []byte(d)}, func(err error) { outcomes = append(outcomes, err) }))
	}
	require.NoError(t, p.Close(t.Context()))
	require.Len(t, outcomes, len(documents))
	return outcomes
}

// reading is a message with one value of an entity.
func reading(entity string, value any) string {
	return fmt.Sprintf("<https://e/%s> %s<https://e/%s> <https://e/p> \"%v\" .\n", entity, typed, entity, value)
}

func TestBroker_Connect_sendsWhatTheSettingsSay(t *testing.T) {
	b := startBroker(t)
	s := ngsild.Settings{URL: b.URL + "/", Tenant: "city", Context: "https://c/d.jsonld", Token: "key"}
	require.NoError(t, publish(t, s, reading("a", 1))[0])
	last := b.requests[len(b.requests)-1]
	require.Equal(t, "options=update", last.URL.RawQuery)
	require.Equal(t, "city", last.Header.Get("NGSILD-Tenant"))
	require.Equal(t, "Bearer key", last.Header.Get("Authorization"))
	require.Equal(t, `<https://c/d.jsonld>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"`, last.Header.Get("Link"))
	s = ngsild.Settings{URL: b.URL, Mode: ngsild.Replace, User: "u", Password: "p"}
	require.NoError(t, publish(t, s, "<https://e/a> "+typed)[0])
	last = b.requests[len(b.requests)-1]
	require.Empty(t, last.URL.RawQuery)
	require.Empty(t, last.Header.Get("Link"))
	require.NotContains(t, b.kept("https://e/a"), "https://e/p")
}

// The last message of an entity stays, whatever is written together.
func TestBroker_Connect_keepsTheOrderOfEachEntity(t *testing.T) {
	b := startBroker(t)
	var documents []string
	for i := range 600 {
		documents = append(documents, reading(fmt.Sprint("s", i*i%7), i))
	}
	for i, err := range publish(t, ngsild.Settings{URL: b.URL}, documents...) {
		require.NoError(t, err, i)
	}
	last := map[string]string{}
	for i := range 600 {
		last[fmt.Sprint("https://e/s", i*i%7)] = fmt.Sprint(i)
	}
	for id, value := range last {
		require.Equal(t, value, instances(b.kept(id)["https://e/p"])[0]["value"], id)
	}
	require.Less(t, len(b.sent()), 500, "requests have several entities")
}

func TestBroker_Connect_findsTheMessageThatIsRefused(t *testing.T) {
	for name, answer := range map[string]func(string) (int, string){
		"the whole request": func(string) (int, string) { return http.StatusBadRequest, `{"title": "no CREDENTIALS"}` },
		"one entity": func(others string) (int, string) {
			return http.StatusMultiStatus, `{"success": [` + others + `], "errors": [{"entityId": "https://e/poison",
				"error": {"title": "no CREDENTIALS", "status": 400}}]}`
		},
		"an entity without a name": func(string) (int, string) {
			return http.StatusMultiStatus, `{"success": [], "errors": [{"error": {"title": "no CREDENTIALS"}}]}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := startBroker(t)
			b.answer = func(entities []map[string]any) (int, string) {
				var others []string
				poison := false
				for _, e := range entities {
					if poison = poison || e["id"] == "https://e/poison"; e["id"] != "https://e/poison" {
						others = append(others, fmt.Sprintf("%q", e["id"]))
					}
				}
				if !poison {
					return 0, ""
				}
				return answer(strings.Join(others, ","))
			}
			var documents []string
			for i := range 20 {
				documents = append(documents, reading(fmt.Sprint(i), i))
			}
			documents[13] = reading("poison", 13)
			for i, err := range publish(t, ngsild.Settings{URL: b.URL, Token: "hidden"}, documents...) {
				if i == 13 {
					require.ErrorContains(t, err, "refused by the broker")
					require.ErrorContains(t, err, "no Bearer ********")
					continue
				}
				require.NoError(t, err, i)
			}
		})
	}
}

// A refusal of few bytes may have an answer of many.
func TestBroker_Connect_readsALongAnswer(t *testing.T) {
	b := startBroker(t)
	b.answer = func(entities []map[string]any) (int, string) {
		if len(entities) == 1 && entities[0]["id"] != "https://e/poison" {
			return 0, ""
		}
		for _, e := range entities {
			if e["id"] == "https://e/poison" {
				return http.StatusMultiStatus, `{"success": [], "errors": [{"entityId": "https://e/poison",
					"error": {"title": "no", "detail": "` + strings.Repeat("x", 200<<10) + `", "status": 400}}]}`
			}
		}
		return 0, ""
	}
	outcomes := publish(t, ngsild.Settings{URL: b.URL}, reading("a", 1), reading("poison", 2), reading("b", 3))
	require.NoError(t, outcomes[0])
	require.NoError(t, outcomes[2])
}

func TestBroker_Connect_writesAgainUntilTheBrokerConfirms(t *testing.T) {
	b := startBroker(t)
	answers := []string{
		"500", "503", "429", "401", "404", "202", "200 no JSON", `207 {"success": [], "errors": []}`,
		`207 {"success": [], "errors": [{"entityId": "https://e/a", "error": {"title": "x", "status": 503}}]}`,
		`207 {"errors": [{"entityId": "https://e/a", "error": {"type": "https://uri.etsi.org/ngsi-ld/errors/InternalError"}}]}`,
	}
	b.answer = func([]map[string]any) (status int, body string) {
		if len(answers) == 0 {
			return 0, ""
		}
		_, _ = fmt.Sscan(answers[0], &status)
		body, answers = strings.TrimSpace(answers[0][3:]), answers[1:]
		return status, body
	}
	require.Equal(t, []error{nil}, publish(t, ngsild.Settings{URL: b.URL}, reading("a", 1)))
	require.Empty(t, answers)
	require.NotNil(t, b.kept("https://e/a"))
}

// What is written again changes nothing.
func TestBroker_Connect_isIdempotent(t *testing.T) {
	b := startBroker(t)
	document := reading("a", 1) + "<https://e/a> <https://e/p> \"2\" .\n<https://e/a> <https://e/p> \"3\" .\n"
	require.NoError(t, publish(t, ngsild.Settings{URL: b.URL}, document)[0])
	first := fmt.Sprint(b.kept("https://e/a"))
	require.Contains(t, first, topicName+"3")
	require.NoError(t, publish(t, ngsild.Settings{URL: b.URL}, document, document)[0])
	require.Equal(t, first, fmt.Sprint(b.kept("https://e/a")))
}

func TestBroker_Connect_saysWhatIsWrongWithoutCredentials(t *testing.T) {
	for status, want := range map[int]string{
		401: "credentials are wrong", 403: "credentials are wrong", 404: "no endpoint of the protocol", 202: "does not confirm",
		400: "400 Bad Request", 307: "redirected to another server",
	} {
		s := startPlain(t, status)
		_, err := connect(t, ngsild.Settings{URL: s, Token: "hidden"})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}
	_, err := ngsild.New(nil).Subscribe(t.Context(), outputTopic(ngsild.Settings{}), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "only be the output")
}

func TestBroker_Connect_confirmsWhatIsLeftWithAnError(t *testing.T) {
	b := startBroker(t)
	b.answer = func([]map[string]any) (int, string) { return http.StatusServiceUnavailable, "" }
	p, err := connect(t, ngsild.Settings{URL: b.URL})
	require.NoError(t, err)
	outcome := make(chan error, 1)
	require.NoError(t, p.Publish(t.Context(), annotate.Message{Payload: []byte(reading("a", 1))}, func(err error) { outcome <- err }))
	require.Eventually(t, func() bool { return p.Health() != nil }, patience, time.Millisecond)
	require.ErrorContains(t, p.Health(), "503")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, p.Close(ctx))
	require.ErrorIs(t, <-outcome, annotate.ErrBrokerClosed)
}
