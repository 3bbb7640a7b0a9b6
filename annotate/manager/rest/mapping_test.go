package rest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/storage"
)

// mappingJSON is a request for a mapping with the predicate.
func mappingJSON(t *testing.T, predicate string) string {
	t.Helper()
	data, err := json.Marshal(map[string]string{
		"name": predicate, "inputFormat": "JSON", "outputFormat": "NTRIPLES",
		"rml": strings.ReplaceAll(managertest.Mapping, "http://example.com/value", "http://example.com/"+predicate),
	})
	require.NoError(t, err)
	return string(data)
}

func TestNewHandler_putMapping_replacesItWhileMessagesFlow(t *testing.T) {
	const n = 2000
	documents := storage.NewMemoryDocuments()
	c := newClient(t, documents)
	c.text(c.send("POST", "/channels", channelJSON(t, "a/b", nil, nil, nil)), 200, "a/b")
	var published = make(chan struct{})
	go func() {
		defer close(published)
		for i := range n {
			payload := fmt.Appendf(nil, `{"id": %d, "value": "v%d"}`, i, i)
			if c.broker.Publish(t.Context(), annotate.Message{Topic: "a/b/in", Payload: payload}) != nil {
				return
			}
		}
	}()
	for swap := range 10 {
		managertest.Await(t, c.broker, "a/b/out", swap*n/20)
		c.text(c.send("PUT", "/channels/a%2Fb/mapping", mappingJSON(t, fmt.Sprint("p", swap))), 200, "Replaced mapping of channel with ID: a/b")
	}
	<-published
	last := -1
	for i, output := range managertest.Await(t, c.broker, "a/b/out", n) {
		swap := -1
		if strings.Contains(output, "com/p") {
			_, err := fmt.Sscanf(output, fmt.Sprintf("<http://example.com/%d> <http://example.com/p%%d>", i), &swap)
			require.NoError(t, err, output)
		} else {
			require.Equal(t, managertest.Triples(i, i+1)[0], output)
		}
		require.GreaterOrEqual(t, swap, last, "no message goes back to an older mapping")
		last = swap
	}
	require.Equal(t, n, len(c.broker.Messages("a/b/out")), "none twice")
	stored, err := documents.Get(t.Context(), "channels/a/b")
	require.NoError(t, err)
	require.Contains(t, string(stored.Data), "http://example.com/p9")
	require.Contains(t, c.get("/channels/a%2Fb?metadata&rml").body, "http://example.com/p9")
	require.Contains(t, c.get("/channels/a%2Fb/mapping/").body, `"rmlHash":`)
	require.Contains(t, c.get("/channels/a%2Fb/mapping").body, "http://example.com/p9")
}

func TestNewHandler_putMapping_keepsTheOldOneOnErrors(t *testing.T) {
	documents := &managertest.FaultyDocuments{Documents: storage.NewMemoryDocuments()}
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, documents))
	c := newManagerClient(t, m)
	managertest.Create(t, m, managertest.Channel("keeps"))
	const path, malformed = "/channels/keeps/mapping", "The request content was malformed:\n"
	replaced := func(old, new string) string {
		return strings.Replace(mappingJSON(t, "next"), old, new, 1)
	}
	c.text(c.send("PUT", path, `{"inputFormat": "JSON", "outputFormat": "TTL"}`), 400, malformed+"rml: required, expected a string")
	c.text(c.send("PUT", path, `{"inputFormat": "TXT"}`), 400, malformed+`inputFormat: expected one of JSON, CSV, XML, got "TXT"`)
	c.text(c.send("PUT", path, `[]`), 400, malformed+"expected a JSON object, got an array")
	c.text(c.send("PUT", path, replaced(`"JSON"`, `"XML"`)), 400,
		"RML mapping exception: the mapping's reference formulation is ql:JSONPath; inputFormat XML needs ql:XPath")
	bad := c.send("PUT", path, replaced("rr:subjectMap", "rr:subjektMap"))
	require.Equal(t, 400, bad.status)
	require.Regexp(t, `malformed:\nrml: .*line \d+`, bad.body, "it names the field and the place")
	bad = c.send("PUT", path, replaced("a rr:TriplesMap", "no Turtle"))
	require.Equal(t, 400, bad.status)
	require.Regexp(t, `malformed:\nrml: .*line \d+`, bad.body)
	c.text(c.do("PUT", path, "text/turtle", managertest.Mapping), 415,
		"The request's Content-Type is not supported. Expected:\napplication/json")
	require.Equal(t, 413, c.send("PUT", path, strings.Repeat(" ", 17<<20+1)).status)
	c.text(c.send("PUT", "/channels/absent/mapping", mappingJSON(t, "next")), 404, "Channel ID not found: No channel with ID: absent")
	c.text(c.get("/channels/absent/mapping"), 404, "Channel ID not found: No channel with ID: absent")
	documents.Broken.Store(true)
	require.Equal(t, 500, c.send("PUT", path, mappingJSON(t, "next")).status)
	documents.Broken.Store(false)

	managertest.Publish(t, b, "keeps/in", 0, 1)
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, b, "keeps/out", 1))
	require.Contains(t, c.get(path).body, "http://example.com/value")
}

func TestNewHandler_putMapping_isStored(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	c := managertest.Channel("lasts")
	c.Stopped = true
	managertest.Create(t, m, c)
	next := c.Mapping
	next.RML = managertest.Renamed()
	require.NoError(t, m.SetMapping(t.Context(), "lasts", next))
	managertest.Patch(t, m, "lasts", false)
	managertest.Publish(t, b, "lasts/in", 0, 1)
	require.Contains(t, managertest.Await(t, b, "lasts/out", 1)[0], "renamed")
	require.NoError(t, stop())
	managertest.Start(t, managertest.Config(b, documents))
	managertest.Publish(t, b, "lasts/in", 1, 2)
	require.Contains(t, managertest.Await(t, b, "lasts/out", 2)[1], "renamed")
}

// TestNewHandler_flags_areSetByPresence is the table of originals: a flag is set when it is present
// with any value but false and 0.
func TestNewHandler_flags_areSetByPresence(t *testing.T) {
	c := newClient(t, storage.NewMemoryDocuments())
	c.text(c.send("POST", "/channels", channelJSON(t, "f", nil, nil, nil)), 200, "f")
	for query, want := range map[string]string{
		"": "", "?status": "status", "?status=": "status", "?status=true": "status", "?status=1": "status", "?status=no": "status",
		"?status=false": "", "?status=0": "", "?other=1": "", "?rml": "", "?rml=1&status=1": "status",
		"?settings=true": "settings", "?settings=true&status=true": "settings status", "?metadata=1": "metadata",
		"?all": "metadata settings status", "?all=1&status=false": "metadata settings status", "?all=false&status": "status",
	} {
		for _, path := range []string{"/channels/f", "/channels/f/"} {
			var members map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.get(path+query).body), &members))
			require.Equal(t, strings.Fields(want), sortedKeys(members), query)
		}
		var all map[string]map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.get("/channels"+query).body), &all))
		require.Equal(t, strings.Fields(want), sortedKeys(all["f"]), query)
	}
}

func sortedKeys(members map[string]any) []string {
	keys := []string{}
	for _, key := range []string{"metadata", "settings", "status"} {
		if _, ok := members[key]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestNewHandler_acceptsBothSpellingsOfTheMonitors(t *testing.T) {
	c := newClient(t, nil)
	topic := func(name string) map[string]any { return map[string]any{"topic": name, "brokerType": "MQTT"} }
	for name, spelled := range map[string]struct{ settings, status []string }{
		"input form": {
			[]string{"monitorInputTopicSettings", "monitorOutputTopicSettings"},
			[]string{"inputMonitorTopicEnabled", "outputMonitorTopicEnabled"},
		},
		"output form": {
			[]string{"monitoringInputTopicSettings", "monitoringOutputTopicSettings"},
			[]string{"inputMonitoringTopicEnabled", "outputMonitoringTopicEnabled"},
		},
	} {
		id := strings.ReplaceAll(name, " ", "%2F")
		real := strings.ReplaceAll(name, " ", "/")
		body := channelJSON(t, real, map[string]any{spelled.settings[0]: topic("m1"), spelled.settings[1]: topic("m2")}, nil,
			map[string]any{spelled.status[0]: false, spelled.status[1]: true})
		c.text(c.send("POST", "/channels", body), 200, real)
		show := func(in, out bool) string {
			return fmt.Sprintf(`{"status": {"isStopped": false, "inputMonitorTopicEnabled": %v, "outputMonitorTopicEnabled": %v}}`, in, out)
		}
		c.json(c.get("/channels/"+id+"?status"), show(false, true))
		c.text(c.send("PATCH", "/channels/"+id+"/", fmt.Sprintf(`{"%s": true, "%s": false}`, spelled.status[0], spelled.status[1])), 200,
			"Updated settings for channel with ID: "+real)
		c.json(c.get("/channels/"+id+"/?status"), show(true, false))
		c.text(c.do("PATCH", "/channels/"+id+"/restart/", "", ""), 200, "Restarted channel with ID: "+real)
		c.text(c.do("DELETE", "/channels/"+id+"/", "", ""), 200, "Stopped and removed channel with ID: "+real)
	}
}

func TestNewHandler_openAPI_namesEveryMember(t *testing.T) {
	m, err := manager.New(managertest.Config(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	_, document := rest.RoutesAndDocument(m)
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	counted := map[string][]string{ // by the answer, not kept
		"Status": {"messagesWithoutStatements", "unmatched", "invalid", "warned", "illTypedLiterals", "irregularRows"},
	}
	for schema, of := range map[string]any{
		"KafkaSettings": kafka.Settings{}, "MQTTSettings": mqtt.Settings{}, "SPARQLSettings": sparql.Settings{},
		"NGSILDSettings": ngsild.Settings{},
		"SettingsView":   channelform.Settings{}, "Status": channelform.Status{}, "Mapping": channelform.MappingMembers{},
	} {
		properties := parsed.Components.Schemas[schema].Value.Properties
		members := reflect.TypeOf(of)
		for i := range members.NumField() {
			name, _, _ := strings.Cut(members.Field(i).Tag.Get("json"), ",")
			require.Contains(t, properties, name, schema)
		}
		for _, name := range counted[schema] {
			require.Contains(t, properties, name, schema)
		}
		require.Len(t, properties, members.NumField()+len(counted[schema]), schema)
	}
}
