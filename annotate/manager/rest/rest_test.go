package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

type answer struct {
	status      int
	contentType string
	body        string
	header      http.Header
}

// client talks to the REST interface of a manager.
type client struct {
	t      *testing.T
	server *httptest.Server
	broker *annotate.MemoryBroker
}

func newClient(t *testing.T, documents storage.Documents) *client {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, documents))
	c := newManagerClient(t, m)
	c.broker = b
	return c
}

func newManagerClient(t *testing.T, m *manager.Manager) *client {
	server := httptest.NewServer(rest.NewHandler(m, &rest.HandlerOptions{Name: "annotator", Version: "v1.2.3"}))
	t.Cleanup(server.Close)
	return &client{t: t, server: server}
}

func (c *client) do(method, path, contentType, body string) answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request) // without following redirects
	require.NoError(c.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return answer{status: response.StatusCode, contentType: response.Header.Get("Content-Type"), body: string(data), header: response.Header}
}

func (c *client) get(path string) answer { c.t.Helper(); return c.do("GET", path, "", "") }

func (c *client) send(method, path, body string) answer {
	c.t.Helper()
	return c.do(method, path, "application/json", body)
}

// text expects a plain text answer.
func (c *client) text(a answer, status int, body string) {
	c.t.Helper()
	require.Equal(c.t, body, a.body)
	require.Equal(c.t, status, a.status)
	require.Equal(c.t, "text/plain; charset=UTF-8", a.contentType)
}

// json expects a JSON answer.
func (c *client) json(a answer, body string) {
	c.t.Helper()
	require.Equal(c.t, http.StatusOK, a.status, a.body)
	require.Equal(c.t, "application/json", a.contentType)
	require.JSONEq(c.t, body, a.body)
}

// channelJSON is a request for a channel; members replace those that are there.
func channelJSON(t *testing.T, id string, settings, metadata, status map[string]any) string {
	t.Helper()
	document := map[string]map[string]any{
		"settings": {
			"channelId":           id,
			"inputTopicSettings":  map[string]any{"topic": id + "/in", "brokerType": "MQTT"},
			"outputTopicSettings": map[string]any{"topic": id + "/out", "brokerType": "MQTT"},
			"unknownMember":       []any{1, map[string]any{}},
		},
		"metadata": {"name": "n", "description": "d", "mapping": map[string]any{
			"inputFormat": "JSON", "outputFormat": "NTRIPLES", "rml": managertest.Mapping,
		}},
		"status": {},
	}
	for name, members := range map[string]map[string]any{"settings": settings, "metadata": metadata, "status": status} {
		for key, value := range members {
			document[name][key] = value
		}
	}
	data, err := json.Marshal(document)
	require.NoError(t, err)
	return string(data)
}

func TestNewHandler_channel_isCreatedChangedAndRemoved(t *testing.T) {
	c := newClient(t, nil)
	const id = "sensors/a b"
	path := "/channels/" + url.PathEscape(id)
	c.json(c.get("/channels"), `{}`)
	body := channelJSON(t, id, map[string]any{
		"errorTopicSettings":        map[string]any{"topic": "errors", "brokerType": "MQTT"},
		"monitorInputTopicSettings": map[string]any{"topic": "seen", "brokerType": "MQTT"},
	}, nil, map[string]any{"inputMonitoringTopicEnabled": false})
	c.text(c.send("POST", "/channels", body), 200, id)
	managertest.Publish(t, c.broker, id+"/in", 0, 1)
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, c.broker, id+"/out", 1))

	c.json(c.get("/channels/"), `{"sensors/a b": {}}`)
	c.json(c.get(path), `{}`)
	running := `{"status": {"isStopped": false, "errorTopicEnabled": true, "inputMonitorTopicEnabled": false}}`
	c.json(c.get(path+"?status=true"), running)
	c.json(c.get(path+"/?status"), running)
	c.json(c.get("/channels?status=yes"), `{"sensors/a b": `+running+`}`)
	c.json(c.get(path+"?status=false&settings=0"), `{}`)
	require.NotContains(t, c.get(path+"?metadata=1").body, "rr:template")
	require.Contains(t, c.get(path+"?metadata=1").body, `"rmlHash":"`)
	require.Contains(t, c.get(path+"?metadata=1&rml=1").body, "rr:template")
	require.Contains(t, c.get(path+"?all=1").body, "rr:template")
	require.Contains(t, c.get(path+"?settings=1").body, `"monitoringInputTopicSettings":`)

	c.text(c.send("POST", "/channels/", body), 400,
		"Channel ID exception: Cannot create new channel with given ID. Found existing channel with ID "+id)
	c.text(c.send("PATCH", path, `{"isStopped": false}`), 200, "No updates were made to channel status for channel with ID: "+id)
	c.text(c.send("PATCH", path, `{"outputMonitorTopicEnabled": true}`), 200,
		"No updates were made to channel status for channel with ID: "+id)
	c.text(c.send("PATCH", path, `{"error": "x"}`), 200, "No updates were made to channel status for channel with ID: "+id)
	c.text(c.send("PATCH", path, `{"inputMonitoringTopicEnabled": true}`), 200, "Updated settings for channel with ID: "+id)
	c.text(c.send("PATCH", path, `{"isStopped": true, "errorTopicEnabled": false}`), 200, "Updated settings and stopped channel with ID: "+id)
	c.json(c.get(path+"?status"), `{"status": {"isStopped": true, "errorTopicEnabled": false, "inputMonitorTopicEnabled": true}}`)
	c.text(c.send("PATCH", path, `{"isStopped": true}`), 200, "No updates were made to channel status for channel with ID: "+id)
	c.text(c.send("PATCH", path+"/", `{"isStopped": false}`), 200, "Updated settings and started channel with ID: "+id)
	c.text(c.do("PATCH", path+"/restart", "", ""), 200, "Restarted channel with ID: "+id)
	c.text(c.do("PATCH", path+"/restart/", "", ""), 200, "Restarted channel with ID: "+id)
	c.text(c.send("PATCH", path, `{}`), 422, "Wrong settings: ChannelStatus object was empty, so no updates were made.")
	c.text(c.send("PATCH", path, `{"other": 1}`), 422, "Wrong settings: ChannelStatus object was empty, so no updates were made.")
	c.text(c.do("DELETE", path, "", ""), 200, "Stopped and removed channel with ID: "+id)
	c.json(c.get("/channels"), `{}`)

	missing := "Channel ID not found: No channel with ID: " + id
	c.text(c.get(path), 404, missing)
	c.text(c.send("PATCH", path, `{"isStopped": true}`), 404, missing)
	stop := "Channel ID not found: Cannot stop channel. No channel with ID " + id
	c.text(c.do("PATCH", path+"/restart", "", ""), 404, stop)
	c.text(c.do("DELETE", path, "", ""), 404, stop)
}

func TestNewHandler_listsAChannelWithoutBrokerAsStopped(t *testing.T) {
	c := newClient(t, nil)
	c.broker.Down()
	c.text(c.send("POST", "/channels", channelJSON(t, "down", nil, nil, nil)), 200, "down")
	a := c.get("/channels/down?status")
	require.Contains(t, a.body, `"isStopped":true`)
	require.Contains(t, a.body, "broker unavailable")
	a = c.send("PATCH", "/channels/down", `{"isStopped": false}`)
	require.Equal(t, 500, a.status)
	require.True(t, strings.HasPrefix(a.body, `Channel management error: start channel "down": `), a.body)
	require.Contains(t, c.get("/status").body, `"error":"channel \"down\": `)
}

func TestNewHandler_refusesBadChannels(t *testing.T) {
	mapping := func(members map[string]any) map[string]any {
		all := map[string]any{"inputFormat": "JSON", "outputFormat": "TTL", "rml": managertest.Mapping}
		for key, value := range members {
			all[key] = value
		}
		return map[string]any{"mapping": all}
	}
	input := func(members map[string]any) map[string]any {
		all := map[string]any{"topic": "t", "brokerType": "MQTT"}
		for key, value := range members {
			all[key] = value
		}
		return map[string]any{"inputTopicSettings": all}
	}
	twoSources := managertest.Mapping + `map:Other a rr:TriplesMap ;
	  rml:logicalSource [ rml:source [ a carml:Stream ; carml:streamName "b" ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
	  rr:subjectMap [ rr:template "http://example.com/{id}" ; rr:class map:Thing ] .`
	file := strings.Replace(managertest.Mapping, "[ a carml:Stream ]", `"data.json"`, 1)
	const malformed = "The request content was malformed:\n"
	for name, test := range map[string]struct{ body, want string }{
		"not JSON": {`{"settings": {`, malformed + "not JSON: the text ends in the middle"},
		"syntax error": {
			"{\n  \"settings\": tru }",
			malformed + "not JSON: invalid character ' ' in literal true (expecting 'e') at line 2, column 18",
		},
		"empty":         {"", malformed + "expected a JSON object, got nothing"},
		"array":         {"[]", malformed + "expected a JSON object, got an array"},
		"two documents": {"{} {}", malformed + "unexpected text after the JSON object, which ends at byte 2"},
		"deep nesting": {
			strings.Repeat(`{"a":`, 20_000),
			malformed + "not JSON: invalid character '{' exceeded max depth at line 1, column 50001",
		},
		"no settings":   {`{"metadata": {}}`, malformed + "settings: required, expected an object"},
		"null settings": {`{"settings": null}`, malformed + "settings: required, expected an object"},
		"settings text": {`{"settings": "x"}`, malformed + `settings: expected an object, got the string "x"`},
		"missing topic": {
			channelJSON(t, "c", input(map[string]any{"topic": nil}), nil, nil),
			malformed + "settings.inputTopicSettings.topic: required, expected a string",
		},
		"blank topic": {
			channelJSON(t, "c", input(map[string]any{"topic": " "}), nil, nil),
			malformed + "settings.inputTopicSettings.topic: required, must not be empty",
		},
		"topic number": {
			channelJSON(t, "c", input(map[string]any{"topic": 3}), nil, nil),
			malformed + "settings.inputTopicSettings.topic: expected a string, got the number 3",
		},
		"broker letter case": {
			channelJSON(t, "c", input(map[string]any{"brokerType": "mqtt"}), nil, nil),
			malformed + `settings.inputTopicSettings.brokerType: expected one of MQTT, KAFKA, got "mqtt"`,
		},
		"broker not there": {
			channelJSON(t, "c", input(map[string]any{"brokerType": "OTHER"}), nil, nil),
			malformed + `settings.inputTopicSettings.brokerType: expected one of MQTT, KAFKA, got "OTHER"`,
		},
		"wildcard inside": {
			channelJSON(t, "c", input(map[string]any{"topic": "a/#/b"}), nil, nil),
			malformed + `settings.inputTopicSettings.topic: a wildcard must stand alone between slashes and # at the end, got "a/#/b"`,
		},
		"wildcard output": {
			channelJSON(t, "c", map[string]any{"outputTopicSettings": map[string]any{"topic": "a/+", "brokerType": "MQTT"}}, nil, nil),
			malformed + `settings.outputTopicSettings.topic: only the input topic may have the wildcards + and #, got "a/+"`,
		},
		"mqtt without host": {
			channelJSON(t, "c", input(map[string]any{"mqttSettings": map[string]any{"protocol": "tcp", "port": 1}}), nil, nil),
			malformed + "settings.inputTopicSettings.mqttSettings.host: required, expected a string",
		},
		"mqtt port": {
			channelJSON(t, "c", input(map[string]any{"mqttSettings": map[string]any{"protocol": "tcp", "host": "h", "port": 70000}}), nil, nil),
			malformed + "settings.inputTopicSettings.mqttSettings.port: expected an integer from 1 to 65535, got 70000",
		},
		"mqtt protocol": {
			channelJSON(t, "c", input(map[string]any{"mqttSettings": map[string]any{"protocol": "udp", "host": "h", "port": 1}}), nil, nil),
			malformed + `settings.inputTopicSettings.mqttSettings.protocol: expected one of tcp, mqtt, ssl, tls, mqtts, ws, wss, got "udp"`,
		},
		"masked password": {
			channelJSON(t, "c", input(map[string]any{"mqttSettings": map[string]any{"protocol": "tcp", "host": "h", "port": 1,
				"password": annotate.Masked}}), nil, nil),
			malformed + "settings.inputTopicSettings.mqttSettings: user or password is the mask that the service shows " +
				"in their place; send the real ones",
		},
		"parallelism zero": {
			channelJSON(t, "c", map[string]any{"parallelism": 0}, nil, nil),
			malformed + "settings.parallelism: expected an integer from 1 to 256, got 0",
		},
		"parallelism text": {
			channelJSON(t, "c", map[string]any{"parallelism": "2"}, nil, nil),
			malformed + `settings.parallelism: expected an integer, got the string "2"`,
		},
		"buffer fraction": {
			channelJSON(t, "c", map[string]any{"bufferSize": 1.5}, nil, nil),
			malformed + "settings.bufferSize: expected an integer from 1 to 65536, got 1.5",
		},
		"long identifier": {
			channelJSON(t, strings.Repeat("x", 500), nil, nil, nil),
			malformed + "settings.channelId: expected at most 480 bytes, got 500",
		},
		"dot identifier": {channelJSON(t, ".", nil, nil, nil), malformed + `settings.channelId: cannot be ".", which cannot stand in a URL`},
		"two dots": {
			channelJSON(t, "..", nil, nil, nil),
			malformed + `settings.channelId: cannot be "..", which cannot stand in a URL`,
		},
		"stopped text": {
			channelJSON(t, "c", nil, nil, map[string]any{"isStopped": "no"}),
			malformed + `status.isStopped: expected true or false, got the string "no"`,
		},
		"tags": {
			channelJSON(t, "c", nil, map[string]any{"tags": []any{"a", 1}}, nil),
			malformed + "metadata.tags[1]: expected a string, got the number 1",
		},
		"input format": {
			channelJSON(t, "c", nil, mapping(map[string]any{"inputFormat": "json"}), nil),
			malformed + `metadata.mapping.inputFormat: expected one of JSON, CSV, XML, got "json"`,
		},
		"output format": {
			channelJSON(t, "c", nil, mapping(map[string]any{"outputFormat": "JSON-LD"}), nil),
			malformed + `metadata.mapping.outputFormat: expected one of TTL, JSONLD, NTRIPLES, NQUADS, TRIG, got "JSON-LD"`,
		},
		"no mapping": {
			channelJSON(t, "c", nil, mapping(map[string]any{"rml": nil}), nil),
			malformed + "metadata.mapping.rml: required, expected a string",
		},
		"two sources": {
			channelJSON(t, "c", nil, mapping(map[string]any{"rml": twoSources}), nil),
			`RML mapping exception: the mapping has 2 sources (the unnamed stream, stream "b"); a channel needs exactly one, a carml:Stream`,
		},
		"file source": {
			channelJSON(t, "c", nil, mapping(map[string]any{"rml": file}), nil),
			`RML mapping exception: the source of the mapping is file "data.json"; a channel needs a carml:Stream`,
		},
		"another formulation": {
			channelJSON(t, "c", nil, mapping(map[string]any{"inputFormat": "XML"}), nil),
			"RML mapping exception: the mapping's reference formulation is ql:JSONPath; inputFormat XML needs ql:XPath",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, nil)
			c.t = t
			c.text(c.send("POST", "/channels", test.body), 400, test.want)
			c.json(c.get("/channels"), `{}`)
		})
	}
	t.Run("mapping is not Turtle", func(t *testing.T) {
		c := newClient(t, nil)
		a := c.send("POST", "/channels", channelJSON(t, "c", nil, mapping(map[string]any{"rml": "this is no Turtle"}), nil))
		require.Equal(t, 400, a.status)
		require.True(t, strings.HasPrefix(a.body, malformed+"metadata.mapping.rml: "), a.body)
	})
}

func TestNewHandler_acceptsMappingsThatFitNoDummyMessage(t *testing.T) {
	c := newClient(t, nil)
	csv := strings.NewReplacer("ql:JSONPath ; rml:iterator \"$\"", "ql:CSV").Replace(managertest.Mapping)
	body := channelJSON(t, "csv", nil, map[string]any{"mapping": map[string]any{
		"inputFormat": "CSV", "outputFormat": "NTRIPLES", "rml": csv}}, nil)
	c.text(c.send("POST", "/channels", body), 200, "csv")
	require.NoError(t, c.broker.Publish(t.Context(), annotate.Message{Topic: "csv/in", Payload: []byte("id,value\n0,v0\n")}))
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, c.broker, "csv/out", 1))
}

func TestNewHandler_limitsBodies(t *testing.T) {
	c := newClient(t, storage.NewMemoryDocuments())
	const unsupported = "The request's Content-Type is not supported. Expected:\napplication/json"
	c.text(c.do("POST", "/channels", "text/plain", "{}"), 415, unsupported)
	c.text(c.do("POST", "/channels", "", "{}"), 415, unsupported)
	c.text(c.do("PATCH", "/channels/x", "application/xml", "{}"), 415, unsupported)
	c.text(c.do("POST", "/annotations", "text/turtle", "{}"), 415, unsupported)
	require.Equal(t, 400, c.do("POST", "/channels", "application/json; charset=utf-8", "{}").status)
	huge := strings.Repeat(" ", 17<<20+1)
	c.text(c.send("POST", "/channels", huge), 413, "The request body is larger than the limit of 17825792 bytes.")
}

func TestNewHandler_annotations_areStoredAndRemoved(t *testing.T) {
	c := newClient(t, storage.NewMemoryDocuments())
	c.json(c.get("/annotations"), `{}`)
	rml, err := json.Marshal(managertest.Mapping)
	require.NoError(t, err)
	hash := annotate.Mapping{RML: managertest.Mapping}.Hash()
	a := c.send("POST", "/annotations", fmt.Sprintf(`{"name": "n", "inputFormat": "JSON", "outputFormat": "TTL", "rml": %s}`, rml))
	require.Regexp(t, `^[0-9a-f]{24}$`, a.body)
	require.Equal(t, 200, a.status)
	path := "/annotations/" + a.body
	header := fmt.Sprintf(`{"name": "n", "inputFormat": "JSON", "outputFormat": "TTL", "rmlHash": "%s"}`, hash)
	full := fmt.Sprintf(`{"name": "n", "inputFormat": "JSON", "outputFormat": "TTL", "rmlHash": "%s", "rml": %s}`, hash, rml)
	c.json(c.get(path), `{}`)
	c.json(c.get(path+"?rml=1"), `{}`)
	c.json(c.get(path+"?header"), header)
	c.json(c.get(path+"?header&rml"), full)
	c.json(c.get(path+"?all"), full)
	c.json(c.get("/annotations/?header"), fmt.Sprintf(`{"%s": %s}`, a.body, header))
	c.text(c.send("POST", "/annotations", `{"inputFormat": "TXT"}`), 400,
		"The request content was malformed:\ninputFormat: expected one of JSON, CSV, XML, got \"TXT\"")
	bad := c.send("POST", "/annotations", `{"inputFormat": "JSON", "outputFormat": "TTL", "rml": "no"}`)
	require.Equal(t, 400, bad.status)
	require.Contains(t, bad.body, "malformed:\nrml: ")
	c.text(c.do("DELETE", path, "", ""), 200, "Removed annotation with ID: "+a.body)
	missing := "Annotation ID not found: No annotation with ID: " + a.body
	c.text(c.do("DELETE", path, "", ""), 404, missing)
	c.text(c.get(path), 404, missing)
}

func TestNewHandler_standalone_hasNoAnnotations(t *testing.T) {
	c := newClient(t, nil)
	const standalone = "Service not available: Annotations service is not available in standalone mode!"
	c.text(c.get("/annotations"), 404, standalone)
	c.text(c.send("POST", "/annotations", `{}`), 404, standalone)
	c.text(c.get("/annotations/655bc1f0a1b2c3d4e5f60718"), 404, standalone)
	c.text(c.do("DELETE", "/annotations/655bc1f0a1b2c3d4e5f60718", "", ""), 404, standalone)
}

func TestNewHandler_describesTheService(t *testing.T) {
	c := newClient(t, nil)
	c.json(c.get("/version"), `{"name": "annotator", "version": "v1.2.3"}`)
	c.json(c.get("/status/"), `{"status": "INITIALIZED"}`)
	kafka := `{"host": "127.0.0.1", "port": 9093}`
	mqtt := func(id string) string {
		return `{"protocol": "tcp", "host": "127.0.0.1", "port": 1883, "clientId": "` + id + `"}`
	}
	c.json(c.get("/settings"), fmt.Sprintf(`{
		"kafkaSettings": {"inputTopicBrokerSettings": %[1]s, "outputTopicBrokerSettings": %[1]s, "errorTopicBrokerSettings": %[1]s,
			"monitorInputTopicBrokerSettings": %[1]s, "monitorOutputTopicBrokerSettings": %[1]s},
		"mqttSettings": {"inputTopicBrokerSettings": %[2]s, "outputTopicBrokerSettings": %[3]s, "errorTopicBrokerSettings": %[4]s,
			"monitorInputTopicBrokerSettings": %[5]s, "monitorOutputTopicBrokerSettings": %[6]s},
		"maxShutdownDuration": "20 seconds", "mongoHost": "", "mongoPort": 0, "parallelism": 2, "bufferSize": 10,
		"standaloneMode": true, "restoreChannelsStopped": false,
		"mqttClientIdPrefixes": {"inputClientId": "semann/source", "outputClientId": "semann/sink", "errorClientId": "semann/error",
			"mqttMonitorInputClientId": "semann/monitor/input", "mqttMonitorOutputClientId": "semann/monitor/output"}}`,
		kafka, mqtt("semann/source"), mqtt("semann/sink"), mqtt("semann/error"), mqtt("semann/monitor/input"), mqtt("semann/monitor/output")))
	c.text(c.get("/healthz"), 200, "ok")
	c.text(c.get("/readyz"), 200, "ready")

	a := c.get("/swagger")
	require.Equal(t, 307, a.status)
	require.Equal(t, "/swagger/", a.header.Get("Location"))
	require.Equal(t, 404, c.get("/nowhere").status)
	a = c.do("PUT", "/channels", "", "")
	require.Equal(t, 405, a.status)
	require.Equal(t, "GET, HEAD, POST", a.header.Get("Allow"))
	a = c.do("HEAD", "/channels", "", "")
	require.Equal(t, 200, a.status)
	require.Empty(t, a.body)
}

func TestNewHandler_metrics_countMessages(t *testing.T) {
	c := newClient(t, nil)
	c.text(c.send("POST", "/channels", channelJSON(t, "m", nil, nil, nil)), 200, "m")
	managertest.Publish(t, c.broker, "m/in", 0, 3)
	require.NoError(t, c.broker.Publish(t.Context(), annotate.Message{Topic: "m/in", Payload: []byte("bad")}))
	managertest.Await(t, c.broker, "m/out", 3)
	require.Eventually(t, func() bool {
		body := c.get("/metrics").body
		return strings.Contains(body, `annotator_messages_received_total{channel="m"} 4`) &&
			strings.Contains(body, `annotator_messages_published_total{channel="m"} 3`) &&
			strings.Contains(body, `annotator_messages_failed_total{channel="m"} 1`) &&
			strings.Contains(body, `annotator_channel_running{channel="m"} 1`)
	}, managertest.Patience, time.Millisecond)
}

func TestNewHandler_routesAgreeWithTheOpenAPIDocument(t *testing.T) {
	m, err := manager.New(managertest.Config(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	routes, document := rest.RoutesAndDocument(m)
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
	c := newClient(t, nil)
	require.True(t, bytes.Equal(document, []byte(c.get("/openapi.json").body)))
}

func TestNewHandler_documentListsTheFormats(t *testing.T) {
	parsed, err := openapi3.NewLoader().LoadFromData([]byte(newClient(t, nil).get("/openapi.json").body))
	require.NoError(t, err)
	for _, schema := range []string{"Mapping", "MappingView"} {
		properties := parsed.Components.Schemas[schema].Value.Properties
		requireEnum(t, properties["inputFormat"], annotate.InputFormats())
		requireEnum(t, properties["outputFormat"], annotate.OutputFormats())
		requireEnum(t, properties["language"], annotate.MappingLanguages())
	}
}

func requireEnum[T ~string](t *testing.T, schema *openapi3.SchemaRef, values []T) {
	t.Helper()
	var want []any
	for _, v := range values {
		want = append(want, string(v))
	}
	require.Equal(t, want, schema.Value.Enum)
}

func TestNewHandler_servesTheExampleOfItsDocument(t *testing.T) {
	c := newClient(t, nil)
	parsed, err := openapi3.NewLoader().LoadFromData([]byte(c.get("/openapi.json").body))
	require.NoError(t, err)
	example := parsed.Paths.Value("/channels").Post.RequestBody.Value.Content["application/json"].Example
	body, err := json.Marshal(example)
	require.NoError(t, err)
	a := c.send("POST", "/channels", string(body))
	require.Equal(t, 200, a.status, a.body)
	require.JSONEq(t, `{"status": {"isStopped": false, "errorTopicEnabled": true}}`, c.get("/channels/"+url.PathEscape(a.body)+"?status").body)
}

func TestNewHandler_answersWhileTheServiceStarts(t *testing.T) {
	m, err := manager.New(managertest.Config(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	c := newManagerClient(t, m)
	const unavailable = "Service not available: annotate: the service is starting or stopping"
	c.text(c.send("POST", "/channels", channelJSON(t, "early", nil, nil, nil)), 503, unavailable)
	c.json(c.get("/status"), `{"status": "INITIALIZING"}`)
	c.text(c.get("/readyz"), 503, "annotate: the service is starting or stopping")
	c.text(c.get("/healthz"), 200, "ok")
}
