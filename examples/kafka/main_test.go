package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/examples/weather"
)

func TestRun_annotatesEveryObservationOnceAcrossTwoRuns(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	where := topics{host: cluster.Host, port: cluster.Port, in: "weather-json", out: "weather-rdf", errors: "weather-errors"}
	for _, name := range []string{where.in, where.out, where.errors} {
		cluster.Topic(name, 1, 0)
	}
	observations := messages(t, 1000)
	send(t, cluster, where.in, observations[:500])
	annotateUntil(t, where, cluster, 500, 0)
	send(t, cluster, where.in, append(observations[500:], []byte(`{"station": `)))
	report := annotateUntil(t, where, cluster, 1000, 1)

	require.Contains(t, report, "annotated 500, failed 1\n")
	outputs := cluster.Committed(where.out, 1)
	require.Len(t, outputs, 1000)
	failures := cluster.Committed(where.errors, 1)
	require.Len(t, failures, 1)
	var failure struct{ Place string }
	require.NoError(t, json.Unmarshal(failures[0].Value, &failure))
	require.Equal(t, "line 1 column 13", failure.Place)
}

// messages returns the first observations as messages.
func messages(t *testing.T, n int) [][]byte {
	t.Helper()
	var all [][]byte
	for o, err := range weather.Observations() {
		require.NoError(t, err)
		if all = append(all, weather.AppendJSON(nil, o)); len(all) == n {
			break
		}
	}
	return all
}

// patience ends a test that hangs. It measures nothing.
const patience = 2 * time.Minute

// annotateUntil runs the example until so many outputs and error messages are
// committed, and returns what it printed.
func annotateUntil(t *testing.T, where topics, cluster *kafkatest.Cluster, outputs, failures int) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var printed bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, where, &printed) }()
	require.Eventually(t, func() bool {
		return len(cluster.Committed(where.out, 1)) >= outputs && len(cluster.Committed(where.errors, 1)) >= failures
	}, patience, 20*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	return printed.String()
}

// send publishes messages on a topic.
func send(t *testing.T, cluster *kafkatest.Cluster, topic string, messages [][]byte) {
	t.Helper()
	publisher, err := kafka.New(nil).Connect(t.Context(), cluster.Settings(topic, ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, payload := range messages {
		confirmed := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		require.NoError(t, publisher.Publish(t.Context(), annotate.Message{Topic: topic, Payload: payload}, confirmed))
	}
	require.NoError(t, publisher.Close(t.Context()))
}
