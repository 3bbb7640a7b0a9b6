package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/examples/weather"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	channelID = "matrix"
	outTopic  = "weather.out"
	errTopic  = "weather.errors"
	// messageFailed marks the log's lines of malformed messages.
	messageFailed = `msg="message failed"`
	// ahead is how many messages may be sent and not yet have come out.
	ahead = 4000
)

// combination is a channel between two kinds of brokers.
type combination struct {
	in, out end
	// exactly makes the channel work exactly once.
	exactly bool
	// spread shares the messages of an MQTT topic out among two annotators,
	// which keeps no order between them.
	spread bool
}

// rig is a combination of brokers with an annotator between them, a producer
// that keeps it under load, and consumers that take account.
type rig struct {
	t *testing.T
	combination
	stream  *stream
	tally   *tally
	program string
	folder  string
	server  *interop.Server

	mu       sync.Mutex
	limit    int           // messages that may be sent so far
	raised   chan struct{} // closed when limit changes
	reported map[string]int
}

// newRig starts the annotator and creates the channel.
func newRig(t *testing.T, c combination, count int) *rig {
	s := newStream(t, count)
	r := &rig{
		t: t, combination: c, stream: s, tally: newTally(s),
		program: interop.Build(t, "annotator"), folder: t.TempDir(),
		raised: make(chan struct{}), reported: map[string]int{},
	}
	r.in.topics(r.in.input())
	r.out.topics(outTopic, errTopic)
	r.out.consume(t, outTopic, r.tally.add)
	r.out.consume(t, errTopic, r.report)
	t.Cleanup(r.showLogs)
	r.server = r.start("a")
	r.create(r.server)
	return r
}

// start starts an instance of the annotator: the same when the name is.
func (r *rig) start(instance string) *interop.Server {
	r.t.Helper()
	return interop.StartServer(r.t, r.program, "-listen", "127.0.0.1:0", "-instance", instance,
		"-data", filepath.Join(r.folder, instance), "-log-to-file", "-log-file", r.logFile(instance))
}

// showLogs logs what the annotators logged of their connections, if the test
// failed.
func (r *rig) showLogs() {
	if !r.t.Failed() {
		return
	}
	for _, instance := range []string{"a", "b"} {
		text, err := os.ReadFile(r.logFile(instance))
		if err != nil {
			continue // it was never started
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, messageFailed) {
				r.t.Logf("annotator %s: %s", instance, line)
			}
		}
	}
}

func (r *rig) logFile(instance string) string { return filepath.Join(r.folder, instance+".log") }

// distributed reports whether several annotators run the channel together.
func (c combination) distributed() bool {
	_, ordered := c.in.(*kafkaEnd)
	return ordered || c.spread
}

// create creates the channel.
func (r *rig) create(server *interop.Server) {
	r.t.Helper()
	out := outputCable
	if r.exactly { // both ends have to be one cluster, so one address
		out = inputCable
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"name": "weather",
			"mapping": map[string]any{"name": "weather", "inputFormat": "JSON", "outputFormat": "TTL",
				"rml": weather.JSONMapping()},
		},
		"settings": map[string]any{
			"channelId": channelID, "exactlyOnce": r.exactly, "distributed": r.distributed(), "errorFormat": "JSON",
			"dialect":             "rml", // as weather.Expected has the statements
			"inputTopicSettings":  r.in.settings(r.in.input(), inputCable),
			"outputTopicSettings": r.out.settings(outTopic, out),
			"errorTopicSettings":  r.out.settings(errTopic, noCable),
		},
		"status": map[string]any{"isStopped": false},
	})
	require.NoError(r.t, err)
	status, text := interop.Ask(r.t, http.MethodPost, server.URL+"/channels", body)
	require.Equal(r.t, http.StatusOK, status, text)
	require.False(r.t, stopped(r.t, server, channelID))
}

// report takes account of a message from the error topic.
func (r *rig) report(message []byte) {
	var failure struct {
		Payload struct {
			SHA256 string `json:"sha256"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(message, &failure); err != nil {
		failure.Payload.SHA256 = fmt.Sprintf("%v: %s", err, message)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported[failure.Payload.SHA256]++
}

// reports returns how many malformed messages of a range the error topic has,
// and how many further copies.
func (r *rig) reports(from, to int) (different, again int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for digest, times := range r.reported {
		i, known := r.stream.broken[digest]
		if !known {
			r.t.Errorf("the error topic has a report of a message that is not malformed: %s", digest)
		} else if from <= i && i < to {
			different++
			again += times - 1
		}
	}
	return different, again
}

// logged counts the failures in the log of an instance.
func (r *rig) logged(instance string) int {
	r.t.Helper()
	text, err := os.ReadFile(r.logFile(instance))
	require.NoError(r.t, err)
	return strings.Count(string(text), messageFailed)
}

// counter reads one of the channel's metrics.
func (r *rig) counter(server *interop.Server, name string) int {
	r.t.Helper()
	status, text := interop.Ask(r.t, http.MethodGet, server.URL+"/metrics", nil)
	require.Equal(r.t, http.StatusOK, status)
	prefix := fmt.Sprintf("annotator_%s{channel=%q} ", name, channelID)
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, prefix); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(r.t, err)
			return int(number)
		}
	}
	return 0 // it does not count before the channel has run
}

// allow lets the producer send up to a number of messages.
func (r *rig) allow(limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = limit
	close(r.raised)
	r.raised = make(chan struct{})
}

// produce sends the stream, each lane in order, never further ahead of what
// has come out than a bound.
func (r *rig) produce(ctx context.Context) error {
	publish := r.in.publisher(r.t)
	failures := make(chan error, lanes)
	for l := range lanes {
		go func() {
			for i := l; i < r.stream.count; i += lanes {
				err := r.mayWait(ctx, i)
				if err == nil {
					err = publish(ctx, l, r.stream.payload(i))
				}
				if err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	var failure error
	for range lanes {
		if err := <-failures; err != nil {
			failure = err
		}
	}
	return failure
}

// mayWait waits until message i may be sent.
func (r *rig) mayWait(ctx context.Context, i int) error {
	for {
		r.mu.Lock()
		limit, raised := r.limit, r.raised
		r.mu.Unlock()
		now, changed := r.tally.state()
		if i < limit && r.stream.good(i) < now.arrived+ahead {
			return nil
		}
		select {
		case <-raised:
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
