package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/examples/weather"
	"github.com/iotenablers/enablers/test/interop"
)

// format is one of the three input formats with everything its channel needs.
type format struct {
	name    string
	mapping string
	render  func([]byte, weather.Observation) []byte
}

var formats = []format{
	{"JSON", weather.JSONMapping(), weather.AppendJSON},
	{"CSV", weather.CSVMapping(), weather.AppendCSV},
	{"XML", weather.XMLMapping(), weather.AppendXML},
}

func (f format) input() string  { return "weather/" + strings.ToLower(f.name) + "/in" }
func (f format) output() string { return "weather/" + strings.ToLower(f.name) + "/out" }

// client is an MQTT client that shares no code with the code under test.
type client struct {
	*paho.Client

	mu       sync.Mutex
	received [][]byte
}

func connect(t *testing.T, broker *mqtttest.Mosquitto, id string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", broker.String())
	require.NoError(t, err)
	c := &client{}
	c.Client = paho.NewClient(paho.ClientConfig{
		Conn: conn,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.received = append(c.received, bytes.Clone(p.Packet.Payload))
			return true, nil
		}},
	})
	_, err = c.Connect(t.Context(), &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 30})
	require.NoError(t, err)
	t.Cleanup(func() { c.Disconnect(&paho.Disconnect{}) })
	return c
}

func (c *client) subscribe(t *testing.T, topic string) {
	t.Helper()
	_, err := c.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}})
	require.NoError(t, err)
}

// publish sends the observations in a format, each confirmed before the next.
func (c *client) publish(ctx context.Context, f format, observations []weather.Observation) error {
	for _, o := range observations {
		message := &paho.Publish{Topic: f.input(), QoS: 1, Payload: f.render(nil, o)}
		if _, err := c.Publish(ctx, message); err != nil {
			return fmt.Errorf("publish %s: %w", message.Payload, err)
		}
	}
	return nil
}

func (c *client) messages() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received[:len(c.received):len(c.received)]
}

func observations(t *testing.T) []weather.Observation {
	t.Helper()
	var all []weather.Observation
	for o, err := range weather.Observations() {
		require.NoError(t, err)
		all = append(all, o)
	}
	require.Len(t, all, 10_000)
	return all
}

// createChannel creates a channel over REST and returns its identifier.
func createChannel(t *testing.T, server *interop.Server, broker *mqtttest.Mosquitto, f format) string {
	t.Helper()
	topic := func(name string) map[string]any {
		return map[string]any{
			"topic": name, "brokerType": "MQTT",
			"mqttSettings": map[string]any{"protocol": "tcp", "host": broker.Host, "port": broker.Port},
		}
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"name":    "weather in " + f.name,
			"mapping": map[string]any{"name": "weather", "inputFormat": f.name, "outputFormat": "TTL", "rml": f.mapping},
		},
		"settings": map[string]any{
			"inputTopicSettings": topic(f.input()), "outputTopicSettings": topic(f.output()),
			"dialect": "rml", // as weather.Expected has the statements
		},
		"status": map[string]any{"isStopped": false},
	})
	require.NoError(t, err)
	response, err := http.Post(server.URL+"/channels", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

// stopped reports over REST whether a channel is stopped.
func stopped(t *testing.T, server *interop.Server, id string) bool {
	t.Helper()
	response, err := http.Get(server.URL + "/channels/" + url.PathEscape(id) + "?status")
	require.NoError(t, err)
	defer response.Body.Close()
	var channel struct {
		Status struct {
			IsStopped bool   `json:"isStopped"`
			Error     string `json:"error"`
		} `json:"status"`
	}
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, json.NewDecoder(response.Body).Decode(&channel))
	return channel.Status.IsStopped
}

func parse(t *testing.T, message []byte) []rdf.Quad {
	t.Helper()
	quads, err := graph(message)
	require.NoError(t, err)
	return quads
}

// graph reads a message in Turtle.
func graph(message []byte) ([]rdf.Quad, error) {
	reader, err := rdf.NewReader(bytes.NewReader(message), rdf.Turtle, nil)
	if err != nil {
		return nil, err
	}
	var quads []rdf.Quad
	for q, err := range reader.All() {
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, message)
		}
		quads = append(quads, q)
	}
	return quads, nil
}

// requireGraph checks that a message is the graph of an observation.
func requireGraph(t *testing.T, o weather.Observation, message []byte) {
	t.Helper()
	got, want := parse(t, message), weather.Expected(o)
	if !rdftest.Isomorphic(got, want) {
		t.Fatalf("observation %s %s:\n%s", o.Station, o.Time, rdftest.Diff(got, want))
	}
}

// Every one of 10,000 real observations in each format comes out on the output
// topic, once, in order, as the graph that was expected.
func TestAnnotator_mapsEveryObservationInEveryFormat(t *testing.T) {
	broker := mqtttest.StartMosquitto(t)
	server := interop.StartServer(t, interop.Build(t, "annotator"), "-listen", "127.0.0.1:0", "-data", t.TempDir())
	all := observations(t)
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			consumer := connect(t, broker, "consumer-"+f.name)
			consumer.subscribe(t, f.output())
			id := createChannel(t, server, broker, f)
			require.False(t, stopped(t, server, id), "a channel that was created runs")

			require.NoError(t, connect(t, broker, "producer-"+f.name).publish(t.Context(), f, all))
			require.Eventually(t, func() bool { return len(consumer.messages()) >= len(all) }, patience, 20*time.Millisecond,
				"the output topic has fewer messages than were published")
			got := consumer.messages()
			require.Len(t, got, len(all), "no message comes twice")
			for i, o := range all {
				requireGraph(t, o, got[i])
			}
			t.Logf("%d observations in %s: none missing, none twice, all in order", len(all), f.name)
		})
	}
}

// A process that is killed in mid-stream and started again loses nothing: what
// it had not finished comes again. First appearances keep their order.
func TestAnnotator_losesNothingWhenItIsKilled(t *testing.T) {
	broker := mqtttest.StartMosquitto(t)
	program, data := interop.Build(t, "annotator"), t.TempDir()
	start := func() *interop.Server {
		return interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-data", data)
	}
	all := observations(t)
	server := start()
	ids := make([]string, len(formats))
	consumers := make([]*client, len(formats))
	published := make(chan error, len(formats))
	for i, f := range formats {
		consumers[i] = connect(t, broker, "consumer-"+f.name)
		consumers[i].subscribe(t, f.output())
		ids[i] = createChannel(t, server, broker, f)
		producer := connect(t, broker, "producer-"+f.name)
		go func() { published <- producer.publish(t.Context(), f, all) }()
	}
	const kills = 3
	for kill := range kills {
		mark := len(all) * (kill + 1) / (kills + 2)
		for i := range formats {
			require.Eventually(t, func() bool { return len(consumers[i].messages()) >= mark }, patience, time.Millisecond)
		}
		server.Kill()
		server = start()
	}
	for range formats {
		require.NoError(t, <-published)
	}
	for i, f := range formats {
		require.Eventually(t, func() bool { return !stopped(t, server, ids[i]) }, patience, 20*time.Millisecond,
			"the channel is back after the restart")
		last := weather.Expected(all[len(all)-1])[0].Subject.Value
		require.Eventually(t, func() bool {
			got := consumers[i].messages()
			return len(got) > 0 && bytes.Contains(got[len(got)-1], []byte("<"+last+">"))
		}, patience, 20*time.Millisecond, "the last observation never came out")
		requireAllOnceInOrder(t, f, all, consumers[i].messages(), kills)
	}
}

// requireAllOnceInOrder checks that each observation is among the messages,
// that the first appearances are in order, and that each is the right graph.
func requireAllOnceInOrder(t *testing.T, f format, all []weather.Observation, messages [][]byte, kills int) {
	t.Helper()
	seen := make(map[string]bool, len(all))
	var first [][]byte
	for _, message := range messages {
		subject, _, found := strings.Cut(string(message[max(bytes.Index(message,
			[]byte("<http://example.org/obs/")), 0):]), ">")
		require.True(t, found, "not an observation: %s", message)
		if !seen[subject] {
			seen[subject] = true
			first = append(first, message)
		}
	}
	require.Len(t, first, len(all), "%s: observations are missing", f.name)
	for i, o := range all {
		requireGraph(t, o, first[i])
	}
	t.Logf("%d observations in %s across %d kills: none missing, first appearances in order, %d came again",
		len(all), f.name, kills, len(messages)-len(first))
}
