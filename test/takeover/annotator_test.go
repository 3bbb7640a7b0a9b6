package takeover_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/test/interop"
)

// rounds is the environment variable with the number of kills. A few are enough to see a
// fault of the ordinary way; a record needs many.
const (
	rounds        = "TAKEOVERS"
	roundsDefault = 5
	channels      = 6
	deadline      = time.Minute // for each wait; the test is about what arrives
)

// mapping makes one statement with the number of the message.
const mapping = `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix ex: <http://example.org/> . @prefix carml: <http://carml.taxonic.com/carml/> .
<#m> a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/message/{n}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:number ; rr:objectMap [ rml:reference "n" ] ] .`

// arrival is an output as it arrived.
type arrival struct {
	number int
	at     time.Time
}

// line is one channel with what was sent to it and what came of it.
type line struct {
	id      string
	publish func(n int) error

	mu       sync.Mutex
	sent     int // numbers below it are confirmed by the broker
	arrivals []arrival
	news     chan struct{} // capacity 1
}

func (l *line) progress() (sent int, arrivals []arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent, l.arrivals[:len(l.arrivals):len(l.arrivals)]
}

func (l *line) arrived(n int) {
	l.mu.Lock()
	l.arrivals = append(l.arrivals, arrival{n, time.Now()})
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// await waits for the first output from a number on, and returns when it arrived.
func (l *line) await(t *testing.T, from int) time.Time {
	t.Helper()
	late := time.After(deadline)
	for {
		_, arrivals := l.progress()
		if i := slices.IndexFunc(arrivals, func(a arrival) bool { return a.number >= from }); i >= 0 {
			return arrivals[i].at
		}
		select {
		case <-l.news:
		case <-late:
			t.Fatalf("channel %q: nothing came of message %d and later ones within %s", l.id, from, deadline)
		}
	}
}

func post(t *testing.T, server *interop.Server, body any) string {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	response, err := http.Post(server.URL+"/channels", "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

// holders returns the instance that runs each channel, as one of them shows it.
func holders(t *testing.T, server *interop.Server) map[string]string {
	t.Helper()
	response, err := http.Get(server.URL + "/channels?status")
	require.NoError(t, err)
	defer response.Body.Close()
	var all map[string]struct {
		Status struct {
			Stopped  bool   `json:"isStopped"`
			Instance string `json:"instance"`
		} `json:"status"`
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all), string(text))
	found := map[string]string{}
	for id, c := range all {
		if !c.Status.Stopped {
			found[id] = c.Status.Instance
		}
	}
	return found
}

// kills returns how often an annotator is killed.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(rounds)
	if text == "" {
		return roundsDefault
	}
	n, err := strconv.Atoi(text)
	require.NoErrorf(t, err, "%s: expected a number", rounds)
	return n
}

// peer is a kind of broker with the topics of the channels.
type peer struct {
	annotate.Broker
	// topic returns a topic of this side, settings those of a channel's topic.
	topic    func(name, client string) annotate.Topic
	settings func(name string) map[string]any
}

func TestAnnotator_threeOnOneStore_killedUnderLoad(t *testing.T) {
	killUnderLoad(t, mosquitto(mqtttest.StartMosquitto(t)))
}

func mosquitto(broker *mqtttest.Mosquitto) peer {
	return peer{mqtt.New(nil), broker.Topic, func(name string) map[string]any {
		return map[string]any{"topic": name, "brokerType": "MQTT",
			"mqttSettings": map[string]any{"protocol": "tcp", "host": broker.Host, "port": broker.Port}}
	}}
}

// A member of a consumer group that was killed is replaced at once: the cluster waits for none.
func TestAnnotator_threeOnOneStore_killedUnderLoadFromKafka(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	for n := range channels {
		cluster.Topic(input(n), 1, 0) // one order of all messages
		cluster.Topic(output(n), 1, 0)
	}
	killUnderLoad(t, peer{kafka.New(nil), cluster.Settings, func(name string) map[string]any {
		return map[string]any{"topic": name, "brokerType": "KAFKA",
			"kafkaSettings": map[string]any{"host": cluster.Host, "port": cluster.Port, "offsetReset": "earliest"}}
	}})
}

func input(channel int) string  { return fmt.Sprintf("takeover-%d-in", channel) }
func output(channel int) string { return fmt.Sprintf("takeover-%d-out", channel) }

func killUnderLoad(t *testing.T, broker peer) {
	t.Helper()
	underLoad(t, broker, (*interop.Server).Kill, nil)
}

// underLoad strikes annotators that run channels, again and again, and has them recover, or
// starts them again, when the others have taken their channels over.
func underLoad(t *testing.T, broker peer, strike, recover func(*interop.Server)) {
	t.Helper()
	store := mongotest.StartProcess(t)
	program := interop.Build(t, "annotator")
	names := []string{"one", "two", "three"}
	fleet := map[string]*interop.Server{}
	database := store.Database(t)
	start := func(name string) {
		fleet[name] = interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-instance", name, "-access", "none",
			"-data", t.TempDir(), "-db-uri", store.URI, "-db-database", database, "-log-to-file=false")
	}
	for _, name := range names {
		start(name)
	}

	lines := map[string]*line{}
	for n := range channels {
		in, out := input(n), output(n)
		l := &line{news: make(chan struct{}, 1)}
		listen(t, broker, broker.topic(out, fmt.Sprintf("reader-%d", n)), l.arrived)
		l.publish = sender(t, broker, broker.topic(in, fmt.Sprintf("sender-%d", n)))
		l.id = post(t, fleet["one"], map[string]any{
			"metadata": map[string]any{"name": in, "mapping": map[string]any{
				"name": "number", "inputFormat": "JSON", "outputFormat": "NTRIPLES", "rml": mapping}},
			"settings": map[string]any{"inputTopicSettings": broker.settings(in), "outputTopicSettings": broker.settings(out)},
			"status":   map[string]any{"isStopped": false},
		})
		lines[l.id] = l
	}
	var load sync.WaitGroup
	over := make(chan struct{})
	finish := sync.OnceFunc(func() { close(over); load.Wait() })
	t.Cleanup(finish)
	for _, l := range lines {
		load.Go(func() { l.feed(t, over) })
	}
	for _, l := range lines {
		l.await(t, 0)
	}

	var gaps []time.Duration
	takeovers := map[string]int{}
	for range kills(t) {
		<-time.After(rand.N(1500 * time.Millisecond)) // a kill at any phase of leases and looks
		dead, witness := victim(t, fleet, names)
		owned := holders(t, witness)
		marks := map[string]int{}
		at := time.Now()
		strike(fleet[dead])
		for id, holder := range owned {
			if holder == dead {
				marks[id], _ = lines[id].progress()
				takeovers[id]++
			}
		}
		for id, mark := range marks {
			// Messages from the one after the next on were sent after the kill.
			gaps = append(gaps, lines[id].await(t, mark+2).Sub(at))
		}
		if recover != nil {
			recover(fleet[dead])
		} else {
			start(dead)
		}
	}
	finish()
	for id, l := range lines {
		l.complete(t, takeovers[id]+settling)
	}
	require.NotEmpty(t, gaps)
	slices.Sort(gaps)
	t.Logf("%d times, %d channels taken over: gap p50 %v, p95 %v, max %v", kills(t), len(gaps),
		gaps[len(gaps)/2].Round(time.Millisecond), gaps[len(gaps)*95/100].Round(time.Millisecond),
		gaps[len(gaps)-1].Round(time.Millisecond))
}

// settling is how often a channel may change instances besides: shares are made even again
// when an annotator comes back.
const settling = 2

// victim returns an annotator that runs channels, and another one.
func victim(t *testing.T, fleet map[string]*interop.Server, names []string) (dead string, witness *interop.Server) {
	t.Helper()
	late := time.After(deadline)
	for {
		dead = names[rand.N(len(names))]
		for _, name := range names {
			if name != dead {
				witness = fleet[name]
			}
		}
		if found := holders(t, witness); len(found) == channels {
			for _, holder := range found {
				if holder == dead {
					return dead, witness
				}
			}
		}
		select {
		case <-late:
			t.Fatalf("not every channel runs within %s: %v", deadline, holders(t, witness))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// feed sends a message each 20 ms until the end.
func (l *line) feed(t *testing.T, over <-chan struct{}) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-over:
			return
		}
		if err := l.publish(n); err != nil {
			t.Errorf("publish message %d: %v", n, err)
			return
		}
		l.mu.Lock()
		l.sent = n + 1
		l.mu.Unlock()
	}
}

// complete checks that every message was mapped, and that the outputs go back no more often
// than the channel changed instances: of two that publish at once, the one repeats what the
// other did, again and again.
func (l *line) complete(t *testing.T, changes int) {
	t.Helper()
	sent, _ := l.progress()
	l.await(t, sent-1)
	_, arrivals := l.progress()
	seen := make([]bool, sent)
	last, back := -1, 0
	for _, a := range arrivals {
		if a.number < last {
			back++
		}
		last = a.number
		if a.number < sent {
			seen[a.number] = true
		}
	}
	require.NotContains(t, seen, false, "channel %q lost a message", l.id)
	require.LessOrEqual(t, back, changes, "channel %q went back more often than it was taken over", l.id)
}

// listen calls arrived with the number of each output.
func listen(t *testing.T, broker annotate.Broker, topic annotate.Topic, arrived func(int)) {
	t.Helper()
	number := regexp.MustCompile(`"(\d+)"`)
	sub, err := broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			d, err := sub.Receive(t.Context())
			if err != nil {
				return
			}
			found := number.FindSubmatch(d.Payload)
			if found == nil {
				t.Errorf("output without a number: %s", d.Payload)
				return
			}
			n, _ := strconv.Atoi(string(found[1])) // digits
			arrived(n)
			d.Ack()
		}
	})
	t.Cleanup(reading.Wait)
}

// sender returns a function that sends a message and waits for the broker's confirmation.
func sender(t *testing.T, broker annotate.Broker, topic annotate.Topic) func(n int) error {
	t.Helper()
	pub, err := broker.Connect(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pub.Close(t.Context()) })
	return func(n int) error {
		confirmed := make(chan error, 1)
		m := annotate.Message{Topic: topic.Name, Payload: fmt.Appendf(nil, `{"n":%d}`, n)}
		if err := pub.Publish(t.Context(), m, func(err error) { confirmed <- err }); err != nil {
			return err
		}
		return <-confirmed
	}
}
