package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/modelrepo"
)

// process is a run of the program on free ports.
type process struct {
	web, mqtt, models, collector, clients string // addresses with a scheme
	portal, gateway, admin                string // likewise
	bonding, attached                     string // likewise

	lines     *bufio.Scanner
	interrupt func()
	stop      func() error
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan error, 1)
	args = append([]string{"-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0", "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0", "-data", t.TempDir()}, args...)
	go func() {
		err := run(ctx, args, stdout, &stderr)
		_ = stdout.CloseWithError(io.EOF)
		done <- err
	}()
	p := process{lines: bufio.NewScanner(out)}
	p.interrupt = cancel
	p.stop = sync.OnceValue(func() error {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return <-done
	})
	t.Cleanup(func() { _ = p.stop() })
	for _, at := range []struct {
		of      *string
		service string
	}{
		{&p.web, "console and annotator"}, {&p.mqtt, "MQTT broker"}, {&p.models, "model repository"},
		{&p.collector, "training collector and FL repository"}, {&p.clients, "Flower clients"},
		{&p.portal, "API portal"}, {&p.gateway, "API gateway"}, {&p.admin, "gateway admin"},
		{&p.bonding, "multi-link server, in memory"}, {&p.attached, "multi-link client, in memory"},
	} {
		var ok bool
		*at.of, ok = strings.CutSuffix(strings.TrimPrefix(p.next(t), "listening on "), " ("+at.service+")")
		require.True(t, ok, at.service)
	}
	return p
}

// next returns the next line of output.
func (p process) next(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		require.NoError(t, p.stop())
		t.Fatal("the program has ended")
	}
	return p.lines.Text()
}

// await returns the next line of output that contains the text.
func (p process) await(t *testing.T, text string) string {
	t.Helper()
	for {
		if line := p.next(t); strings.Contains(line, text) {
			return line
		}
	}
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

// awaitFact waits until the console has counted what there is.
func (p process) awaitFact(t *testing.T, fact string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.get(t, "/console/state"), fact) }, time.Minute, 50*time.Millisecond, fact)
}

func TestConsoleAndAnnotatorShareAnAddress(t *testing.T) {
	p := start(t)
	page := p.get(t, "/")
	for _, text := range []string{p.web, p.mqtt, "Annotator", "MQTT broker", "There is no channel yet", "/swagger/"} {
		require.Contains(t, page, text)
	}
	require.JSONEq(t, `{"name": "annotator", "version": "`+version.String()+`"}`, p.get(t, "/version"))
	require.Contains(t, p.get(t, "/swagger/"), "<html")
	require.Equal(t, "{}", p.get(t, "/channels"))
	p.await(t, "curl -H 'Content-Type: application/json' -d @examples/weather/channel.json "+p.web+"/channels")
	require.NoError(t, p.stop())
}

func TestAReportSentAsTheGuideSaysComesOutAsRDF(t *testing.T) {
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
	require.Contains(t, p.get(t, "/"), "Weather reports")
}

func TestTheDemoCountsWhatComesOutUntilItIsInterrupted(t *testing.T) {
	p := start(t, "-demo", "-demo-rate", "100")
	p.await(t, "a message in JSON:")
	p.await(t, "a sosa:Observation")
	require.Regexp(t, `JSON in \d+ out \d+ failed 0 \d+/s   CSV in \d+ out \d+ failed 0 \d+/s   XML in \d+ out \d+ failed 0 \d+/s`, p.await(t, "XML in"))
	require.Contains(t, p.get(t, "/"), "Demo: weather in CSV")

	p.interrupt()
	require.Regexp(t, `^replayed for \d+s: (\d+) in, (\d+) out, 0 failed, none missing$`, p.await(t, "replayed for"))
	require.NoError(t, p.stop())
}

func TestPortsThatAreTakenAreErrorsThatNameTheFlag(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"-listen", "-mqtt", "-modelrepo", "-flcollector", "-flcollector-grpc", "-apimanager", "-gateway", "-gateway-admin", "-multilink", "-multilink-client"} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0", "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0", flag, taken.Addr().String(), "-data", t.TempDir()}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "the port is taken")
		require.ErrorContains(t, err, "with "+flag+" ")
	}
}

func TestTheBrokerIsNotOpenedToOthersUnasked(t *testing.T) {
	args := []string{"-listen", "127.0.0.1:0", "-mqtt", "0.0.0.0:0", "-modelrepo", "127.0.0.1:0", "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0", "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0", "-data", t.TempDir()}
	err := run(t.Context(), args, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-mqtt-remote")

	s, _, err := readSettings(append(args, "-mqtt-remote"))
	require.NoError(t, err)
	listener, err := s.listenMQTT()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestWrongSettingsAreRefusedByName(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"-demo-rate", "-1", "-demo-rate: expected 0 to 100000, got -1"},
		{"-encryption-auth-secret", "short", "-encryption-auth-secret: expected 32 bytes, got 5"},
	} {
		_, _, err := readSettings([]string{c.flag, c.value})
		require.EqualError(t, err, c.want)
	}
}

func TestTheModelRepositoryIsThereToo(t *testing.T) {
	p := start(t)
	client, err := modelrepo.NewClient(p.models, nil)
	require.NoError(t, err)
	require.NoError(t, client.CreateNamespace(t.Context(), "weather"))
	page := p.get(t, "/")
	require.Contains(t, page, p.models+"/docs/")
	for _, fact := range []string{"namespaces", "models", "versions", "jobs", "results", "published APIs", "drafts", "links up"} {
		require.Contains(t, page, `data-fact="`+fact+`"`)
	}
	p.awaitFact(t, `{"name":"namespaces","value":1}`)
	require.NoError(t, p.stop())
}

func TestTheTrainingCollectorIsThereToo(t *testing.T) {
	p := start(t)
	page := p.get(t, "/")
	for _, path := range []string{"/", "/docs/", "/repository/docs/", "/metrics"} {
		require.Contains(t, page, `"`+p.collector+path+`"`)
		answer, err := http.Get(p.collector + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
	}
	job := `{"strategy": "avg", "model_name": "tumours", "model_version": "1", "configuration_id": 1, "server_conf": {"num_rounds": 2},
		"strategy_conf": {"min_fit_clients": 1, "min_evaluate_clients": 1, "min_available_clients": 1}, "client_conf": [], "privacy-mechanisms": {}}`
	answer, err := http.Post(p.collector+"/job/config/1", "application/json", strings.NewReader(job))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	parties, err := tumours.Parties()
	require.NoError(t, err)
	client, err := flower.NewClient(flower.ClientConfig{Target: strings.TrimPrefix(p.clients, "grpc://"), Trainer: tumours.NewTrainer(parties[0])})
	require.NoError(t, err)
	require.NoError(t, client.Run(t.Context()))
	require.Contains(t, p.get(t, "/console/state"), `{"name":"jobs","value":1}`)
	p.awaitFact(t, `{"name":"results","value":1}`)
	require.NoError(t, p.stop())
}

func TestTheAPIsOfWhatRunsAreInTheLibrary(t *testing.T) {
	p := start(t)
	require.Contains(t, p.get(t, "/"), `"`+p.portal+`/"`)
	password := strings.Fields(p.await(t, "It is new"))
	p.await(t, "Or start with -demo") // what comes last
	answer, err := http.PostForm(p.portal+"/auth/realms/OpenAPI/protocol/openid-connect/token", url.Values{
		"grant_type": {"password"}, "client_id": {"public-backend-access"}, "username": {"demoopencaller"}, "password": {password[len(password)-1]},
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
		return strings.Count(body, `"state":"draft"`) >= 12 // each is there as the enabler's, and in its list
	}, time.Minute, 50*time.Millisecond, "not all are there")
	p.awaitFact(t, `{"name":"drafts","value":6}`)
	admin := p.admin + "/admin/"
	require.Contains(t, p.get(t, "/"), `"`+admin+`"`)
	answer, err = http.Get(admin)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Content-Type"), "text/html")
	for _, enabler := range []string{"annotator", "model repository", "training collector", "FL repository", "API publisher", "multi-link"} {
		require.Contains(t, body, `"`+enabler+`"`)
	}
	require.NoError(t, p.stop())
}

func TestMultiLinkIsThereInMemoryAndItsTokenOpensBothPages(t *testing.T) {
	data := t.TempDir()
	p := start(t, "-data", data)
	p.await(t, "Links: sign in at")
	words := strings.Fields(p.await(t, "It is new"))
	token := words[len(words)-1]
	kept, err := os.ReadFile(filepath.Join(data, "multilink-demo", "token"))
	require.NoError(t, err)
	require.Equal(t, token, strings.TrimSpace(string(kept)))
	p.await(t, "Or start with -demo") // what comes last

	require.Eventually(t, func() bool {
		return strings.Contains(p.get(t, "/console/state"), `{"name":"clients","value":1},{"name":"links up","value":3}`)
	}, time.Minute, 50*time.Millisecond, "the two are not connected")
	page := p.get(t, "/")
	for _, address := range []string{p.bonding, p.attached} {
		require.Contains(t, page, `"`+address+`/"`)
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
	require.NoError(t, p.stop())

	again := start(t, "-data", data)
	for line := again.next(t); !strings.Contains(line, "Or start with -demo"); line = again.next(t) {
		require.NotContains(t, line, token)
	}
}

func TestPagesElsewhereAreRefusedByEveryService(t *testing.T) {
	p := start(t, "-hosts", "all.example.org")
	for _, at := range []string{
		p.web, p.models, p.collector, p.collector + "/repository", p.portal, p.admin, p.bonding, p.attached,
	} {
		httpapitest.CheckServer(t, at, "/healthz", "all.example.org")
	}
	httpapitest.CheckServer(t, p.web, "/console/state", "all.example.org")
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
