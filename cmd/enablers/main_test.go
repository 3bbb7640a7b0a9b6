package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
)

// process is a run of the program on free ports.
type process struct {
	*servertest.Program
	web, mqtt, models, collector, clients string // addresses with a scheme
	portal, gateway, admin                string // likewise
	bonding, attached, fleet              string // likewise
}

func listenerFlags() []string {
	return []string{"listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "apimanager", "gateway", "gateway-admin",
		"multilink", "multilink-client", "flcollector-fleet"}
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	all := []string{"-data", t.TempDir()}
	for _, name := range listenerFlags() {
		all = append(all, "-"+name, "127.0.0.1:0")
	}
	p := process{Program: servertest.Start(t, run, append(all, args...)...)}
	for _, at := range []struct {
		of      *string
		service string
	}{
		{&p.web, "console and annotator"}, {&p.mqtt, "MQTT broker"}, {&p.models, "model repository"},
		{&p.collector, "training collector and FL repository"}, {&p.clients, "Flower clients"},
		{&p.portal, "API portal"}, {&p.gateway, "API gateway"}, {&p.admin, "gateway admin"},
		{&p.bonding, "multi-link server, in memory"}, {&p.attached, "multi-link client, in memory"},
		{&p.fleet, "SuperNodes"},
	} {
		*at.of = p.Listening(at.service)
	}
	return p
}

func (p process) get(t *testing.T, path string) string {
	t.Helper()
	answer, err := http.Get(p.web + path)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
	return string(body)
}

// awaitFact waits until the overview has counted what there is.
func (p process) awaitFact(t *testing.T, fact string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.get(t, "/ui/state"), fact) }, time.Minute, 50*time.Millisecond, fact)
}

func TestRun_servesConsoleAndAnnotatorAtOneAddress(t *testing.T) {
	p := start(t)
	for _, path := range []string{"/", "/ui/", "/console/", "/console/assets/none"} {
		page := p.get(t, path)
		for _, text := range []string{
			"<h1>Overview", "Begin here", p.web, p.mqtt, p.models, p.collector, p.gateway, p.bonding, "/swagger/",
			`<a href="/ui/annotation/">Annotation</a><a href="/ui/models/">Models</a><a href="/ui/training/">Training</a>` +
				`<a href="/ui/apis/">APIs</a><a href="/ui/links/">Links</a>`,
		} {
			require.Contains(t, page, text, path)
		}
	}
	require.Contains(t, p.get(t, "/console/state"), `"blocks":[{`)
	require.JSONEq(t, `{"name": "annotator", "version": "`+version.String()+`"}`, p.get(t, "/version"))
	require.Contains(t, p.get(t, "/swagger/"), "<html")
	require.Equal(t, "{}", p.get(t, "/channels"))
	p.Await("curl -H 'Content-Type: application/json' -d @examples/weather/channel.json " + p.web + "/channels")
	require.NoError(t, p.Stop())
}

func TestRun_convertsAReportSentAsTheGuideSays(t *testing.T) {
	p := start(t)
	body, err := os.Open("../../examples/weather/channel.json")
	require.NoError(t, err)
	defer func() { _ = body.Close() }()
	answer, err := http.Post(p.web+"/channels", "application/json", body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)

	at, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(p.mqtt, "mqtt://"))
	require.NoError(t, err)
	topic := func(name string) annotate.Topic {
		return annotate.Topic{Name: name, Broker: mqtt.Type, Settings: mqtt.Settings{
			Protocol: "tcp", Host: at.IP.String(), Port: at.Port, ClientID: "test-" + strings.ReplaceAll(name, "/", "-"),
		}}
	}
	client := mqtt.New(nil)
	out, err := client.Subscribe(t.Context(), topic("weather/rdf"), annotate.ConnectOptions{})
	require.NoError(t, err)
	defer func() { _ = out.Close(context.WithoutCancel(t.Context())) }()
	in, err := client.Connect(t.Context(), topic("weather/json"), annotate.ConnectOptions{})
	require.NoError(t, err)
	report := `{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}`
	require.NoError(t, in.Publish(t.Context(), annotate.Message{Topic: "weather/json", Payload: []byte(report)}, func(error) {}))
	require.NoError(t, in.Close(t.Context()))

	d, err := out.Receive(t.Context())
	require.NoError(t, err)
	d.Ack()
	require.Contains(t, string(d.Payload), `weather:temperature "39.02"^^xsd:decimal`)
	require.Contains(t, p.get(t, "/ui/annotation/"), "Weather reports")
	page := p.get(t, "/")
	require.NotContains(t, page, "Begin here")
	require.Contains(t, page, `href="annotation/channels/weather">channel created</a>`)
}

func TestRun_countsOutputsOfTheDemonstration(t *testing.T) {
	p := start(t, "-demo", "-demo-rate", "100")
	p.Await("a message in JSON:")
	p.Await("a sosa:Observation")
	require.Regexp(t,
		`JSON in \d+ out \d+ failed 0 \d+/s   CSV in \d+ out \d+ failed 0 \d+/s   XML in \d+ out \d+ failed 0 \d+/s`, p.Await("XML in"))
	require.Contains(t, p.get(t, "/ui/annotation/"), "Demo: weather in CSV")
	require.Contains(t, p.get(t, "/ui/links/"), "wifi0")

	p.Interrupt()
	require.Regexp(t, `^replayed for \d+s: (\d+) in, (\d+) out, 0 failed, none missing$`, p.Await("replayed for"))
	require.NoError(t, p.Stop())
}

func TestRun_keepsAllBlocksBusyWithTheDemonstration(t *testing.T) {
	p := start(t, "-demo", "-demo-rate", "1")
	p.Await("Watch it at " + p.web + "/ui/:")
	p.Await("Ctrl-C ends it.")
	for _, c := range []struct{ address, want string }{
		{p.models + "/demo/weather-forecast", `"latestVersion":"1.1"`},
		{p.collector + "/job/status/demo-1", "TRAINING"},
		{p.admin + "/services", "demo-weather"},
		{p.web + "/ui/links/api/status", `"active_link":"wifi0"`},
	} {
		require.Eventually(t, func() bool {
			answer, err := http.Get(c.address)
			if err != nil {
				return false
			}
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, answer.Body.Close())
			return err == nil && strings.Contains(string(body), c.want)
		}, time.Minute, 50*time.Millisecond, c.address)
	}
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "the demonstration cannot")
}

func TestRun_namesTheFlagOfATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"-listen", "-mqtt", "-modelrepo", "-flcollector", "-flcollector-grpc",
		"-apimanager", "-gateway", "-gateway-admin", "-multilink", "-multilink-client", "-flcollector-fleet"} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo",
			"127.0.0.1:0", "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager",
			"127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0",
			"-multilink-client", "127.0.0.1:0", "-flcollector-fleet", "127.0.0.1:0",
			flag, taken.Addr().String(), "-data", t.TempDir()}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "the port is taken")
		require.ErrorContains(t, err, "with "+flag+" ")
	}
}

func TestRun_opensTheBrokerToOtherMachinesOnRequestOnly(t *testing.T) {
	args := []string{"-listen", "127.0.0.1:0", "-mqtt", "0.0.0.0:0", "-modelrepo", "127.0.0.1:0", "-flcollector",
		"127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0",
		"-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0",
		"-flcollector-fleet", "127.0.0.1:0", "-data", t.TempDir()}
	err := run(t.Context(), args, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-mqtt-remote")

	s, err := readSettings(append(args, "-mqtt-remote"))
	require.NoError(t, err)
	listener, err := s.listenMQTT()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestRun_boundsTheConnectionsToTheBroker(t *testing.T) {
	s, err := readSettings([]string{"-mqtt", "127.0.0.1:0", "-max-connections", "4"})
	require.NoError(t, err)
	listener, err := s.listenMQTT()
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
	for i := range 3 { // an address may have two of four
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		if i == 2 {
			_, err = conn.Read(make([]byte, 1))
			require.Error(t, err, "it is refused")
		}
	}
}

func TestReadSettings_namesAWrongSetting(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"-demo-rate", "-1", "-demo-rate (ENABLERS_DEMO_RATE): expected 0 to 100000, got -1"},
		{"-data", "", "-data (ENABLERS_DATA): expected a folder"},
		{"-encryption-auth-secret", "short", "-encryption-auth-secret (ENABLERS_ENCRYPTION_AUTH_SECRET): expected 32 bytes, got 5"},
	} {
		_, err := readSettings([]string{c.flag, c.value})
		require.EqualError(t, err, c.want)
	}
}

func TestRun_servesTheModelRepository(t *testing.T) {
	p := start(t)
	client, err := client.New(p.models, nil)
	require.NoError(t, err)
	require.NoError(t, client.CreateNamespace(t.Context(), "weather", modelrepo.NamespaceUpdate{}))
	page := p.get(t, "/")
	require.Contains(t, page, p.models+"/docs/")
	for _, fact := range []string{"namespaces", "models", "versions", "jobs", "results", "published", "drafts", "links up"} {
		require.Contains(t, page, `data-fact="`+fact+`"`)
	}
	p.awaitFact(t, `{"name":"namespaces","value":1,`)
	require.Contains(t, p.get(t, "/"), `href="models/n/weather">namespace created</a>`)
	require.NoError(t, p.Stop())
}

func TestRun_servesTheTrainingCollector(t *testing.T) {
	p := start(t)
	page := p.get(t, "/")
	for _, path := range []string{"/docs/", "/repository/docs/", "/metrics"} {
		require.Contains(t, page, `"`+p.collector+path+`"`)
		answer, err := http.Get(p.collector + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
	}
	job := `{"strategy": "avg", "model_name": "tumours", "model_version": "1", "configuration_id": 1, "server_conf": {"num_rounds": 2},
		"strategy_conf": {"min_fit_clients": 1, "min_evaluate_clients": 1, "min_available_clients": 1},
		"client_conf": [], "privacy-mechanisms": {}}`
	answer, err := http.Post(p.collector+"/job/config/1", "application/json", strings.NewReader(job))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	parties, err := tumours.Parties()
	require.NoError(t, err)
	client, err := flower.NewClient(flower.ClientConfig{Target: strings.TrimPrefix(p.clients, "grpc://"),
		Trainer: tumours.NewTrainer(parties[0])})
	require.NoError(t, err)
	require.NoError(t, client.Run(t.Context()))
	require.Contains(t, p.get(t, "/ui/state"), `{"name":"jobs","value":1,`)
	p.awaitFact(t, `{"name":"results","value":1,`)
	p.awaitFact(t, `"text":"job finished"`)
	require.Contains(t, p.get(t, "/"), `href="training/live/1">job started</a>`)
	require.NoError(t, p.Stop())
}

func TestRun_publishesTheAPIsOfItsServices(t *testing.T) {
	p := start(t)
	_, file, found := strings.Cut(p.Await("new password of demouser"), ": demo_password in ")
	require.True(t, found)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var secrets struct {
		Password string `json:"demo_password"`
	}
	require.NoError(t, json.Unmarshal(raw, &secrets))
	p.Await("Or start with -demo") // what comes last
	answer, err := http.PostForm(p.portal+"/auth/realms/OpenAPI/protocol/openid-connect/token", url.Values{
		"grant_type": {"password"}, "client_id": {"public-backend-access"}, "username": {"demoopencaller"},
		"password": {secrets.Password},
	})
	require.NoError(t, err)
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&tokens))
	require.NoError(t, answer.Body.Close())
	var body string
	require.Eventually(t, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.portal+"/OpenAPIDocumentation/", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+tokens.Access)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		body = string(text)
		return strings.Count(body, `"state":"published"`) >= 12 // each is there as the enabler's, and in its list
	}, time.Minute, 50*time.Millisecond, "not all are there")
	p.awaitFact(t, `{"name":"published","value":6,`)
	admin := p.admin + "/admin/"
	require.Contains(t, p.get(t, "/"), `gateway/"`)
	require.Contains(t, p.get(t, "/ui/gateway/"), "Traffic of the gateway")
	answer, err = http.Get(admin)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Content-Type"), "text/html")
	for _, enabler := range []string{"annotator", "model repository", "training collector", "FL repository", "API publisher", "multi-link"} {
		require.Contains(t, body, `"`+enabler+`"`)
	}
	require.NoError(t, p.Stop())
}

func TestRun_servesMultiLinkInMemory(t *testing.T) {
	data := t.TempDir()
	p := start(t, "-data", data)
	p.Await("Links: sign in at")
	name := filepath.Join(data, "multilink-demo", "token")
	p.Await("The token is in " + name)
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	token := strings.TrimSpace(string(kept))
	p.Await("Or start with -demo") // what comes last
	require.NotContains(t, p.Out.String(), token, "standard output may be a log")

	require.Eventually(t, func() bool {
		state := p.get(t, "/ui/state")
		return strings.Contains(state, `{"name":"links up","value":3,`) && strings.Contains(state, `{"name":"clients","value":1,"href":"links/"`)
	}, time.Minute, 50*time.Millisecond, "the two are not connected")
	require.Contains(t, p.get(t, "/ui/"), `href="./links/"`)
	require.Contains(t, p.get(t, "/ui/links/"), `href="/ui/links/client/"`)
	require.Contains(t, p.get(t, "/ui/links/client/"), "Multi-link client")
	require.Contains(t, p.get(t, "/ui/"), ">link wifi0 is up</a>")
	for _, address := range []string{p.bonding, p.attached} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/status", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err = http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Contains(t, string(body), "wwan0")
		require.NotContains(t, string(body), token)
	}
	require.NoError(t, p.Stop())

	again := start(t, "-data", data)
	for line := again.Next(); !strings.Contains(line, "Or start with -demo"); line = again.Next() {
		require.NotContains(t, line, token)
	}
}

func TestRun_refusesPagesOfOtherOrigins(t *testing.T) {
	p := start(t, "-hosts", "all.example.org")
	for _, at := range []string{
		p.web, p.models, p.collector, p.collector + "/repository", p.portal, p.admin, p.bonding, p.attached,
	} {
		httpapitest.CheckServer(t, at, "/healthz", "all.example.org")
	}
	httpapitest.CheckServer(t, p.web, "/ui/state", "all.example.org")
	httpapitest.CheckServer(t, p.portal, "/auth/realms/OpenAPI/.well-known/openid-configuration", "all.example.org")
	// The gateway is for other origins and names.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.gateway+"/none", nil)
	require.NoError(t, err)
	request.Host = "any.example"
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "enablers", run) }

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	arguments := []string{"-data", t.TempDir()}
	for _, name := range listenerFlags() {
		arguments = append(arguments, "-"+name, "127.0.0.1:0")
	}
	servertest.CheckUsage(t, run, arguments, []string{"-functions", "main_test.go"})
}
