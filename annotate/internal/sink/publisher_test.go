package sink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/internal/sink"
)

// relay is a broker whose publishers are those of package sink, over the broker in memory.
type relay struct{ *annotate.MemoryBroker }

func (r relay) Connect(ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error) {
	below, err := r.MemoryBroker.Connect(ctx, topic, opts) // fails while the broker is down
	if err != nil {
		return nil, err
	}
	if err := below.Close(ctx); err != nil {
		return nil, err
	}
	return sink.Start(writer{r.MemoryBroker, topic.Name}, sink.Config{
		Topic: topic.Name, Window: opts.Window, Permit: opts.Permit,
		BatchMessages: 100, BatchBytes: 1 << 20, RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond,
	}), nil
}

type writer struct {
	broker *annotate.MemoryBroker
	topic  string
}

// Write implements sink.Writer.
func (w writer) Write(ctx context.Context, messages []annotate.Message) (outcomes []error, err error) {
	for _, m := range messages {
		m.Topic = w.topic
		if err := w.broker.Publish(ctx, m); err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, nil)
	}
	return outcomes, nil
}

// The suite without its outages: they wait for Health while nothing is written, and a publisher
// over requests learns of an outage by its next request.
func TestPublisher_passesTheSuite(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	harness := brokertest.Harness{
		Broker: relay{b},
		Topic: func(topic, client string) annotate.Topic {
			return annotate.Topic{Name: topic, Broker: annotate.Memory, Settings: annotate.MemorySettings{Name: client}}
		},
	}
	for _, check := range brokertest.Checks() {
		if !check.Outage && !check.Transactions {
			t.Run(check.Name, func(t *testing.T) { require.NoError(t, check.Run(t.Context(), harness)) })
		}
	}
}

// bounds records the batches that it is handed.
type bounds struct{ batches chan int }

func (b bounds) Write(_ context.Context, messages []annotate.Message) ([]error, error) {
	b.batches <- len(messages)
	return make([]error, len(messages)), nil
}

func TestPublisher_boundsEachBatch(t *testing.T) {
	b := bounds{make(chan int, 100)}
	p := sink.Start(b, sink.Config{BatchMessages: 7, BatchBytes: 30, RetryMin: 1, RetryMax: 1})
	for i := range 50 {
		m := annotate.Message{Payload: make([]byte, 1+i%2*40)} // one larger than a batch always fits
		require.NoError(t, p.Publish(t.Context(), m, func(err error) { require.NoError(t, err) }))
	}
	require.NoError(t, p.Close(t.Context()))
	close(b.batches)
	sum := 0
	for n := range b.batches {
		require.LessOrEqual(t, n, 7)
		sum += n
	}
	require.Equal(t, 50, sum)
}

// poison takes no batch with the message "bad", and one of that message alone makes it panic.
type poison struct{ written chan string }

func (w poison) Write(_ context.Context, messages []annotate.Message) ([]error, error) {
	bad := slices.ContainsFunc(messages, func(m annotate.Message) bool { return string(m.Payload) == "bad" })
	switch {
	case bad && len(messages) == 1:
		panic("as it was asked to")
	case bad:
		return nil, errors.New("the service takes too long")
	}
	for _, m := range messages {
		w.written <- string(m.Payload)
	}
	return make([]error, len(messages)), nil
}

func TestPublisher_dividesABatchThatFailsUntilOneMessageIsLeft(t *testing.T) {
	w := poison{make(chan string, 100)}
	p := sink.Start(w, sink.Config{BatchMessages: 64, BatchBytes: 1 << 20, RetryMin: time.Millisecond, RetryMax: time.Millisecond})
	refused := make(chan error, 100)
	for i := range 40 {
		payload := fmt.Sprint(i)
		if i == 23 {
			payload = "bad"
		}
		require.NoError(t, p.Publish(t.Context(), annotate.Message{Payload: []byte(payload)}, func(err error) {
			if err != nil {
				refused <- err
			}
		}))
	}
	for i := range 40 {
		if i != 23 {
			require.Equal(t, fmt.Sprint(i), <-w.written)
		}
	}
	require.ErrorContains(t, <-refused, "the driver failed: as it was asked to")
	require.NoError(t, p.Close(t.Context()))
	require.Empty(t, refused)
}
