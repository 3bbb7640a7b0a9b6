package load

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// arrival is an output as it arrived.
type arrival struct {
	number int
	at     time.Time
}

// Line is one channel with what was sent to it and what came of it.
type Line struct {
	// Name is that of the channel, for messages about it.
	Name    string
	publish func(n int) error

	mu       sync.Mutex
	sent     int // numbers below it are confirmed by the broker
	arrivals []arrival
	news     chan struct{} // capacity 1
}

// NewLine connects to both ends of a channel, which is to be added afterwards. It is over with
// the test.
func NewLine(t *testing.T, name string, broker annotate.Broker, input, output annotate.Topic) *Line {
	t.Helper()
	l := &Line{Name: name, news: make(chan struct{}, 1)}
	l.listen(t, broker, output)
	l.publish = sender(t, broker, input)
	return l
}

// Feed sends a numbered message each 20 ms until the context ends.
func (l *Line) Feed(ctx context.Context, t *testing.T) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := l.publish(n); err != nil {
			t.Errorf("channel %q: publish message %d: %v", l.Name, n, err)
			return
		}
		l.mu.Lock()
		l.sent = n + 1
		l.mu.Unlock()
	}
}

// Sent returns how many messages the broker has confirmed.
func (l *Line) Sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// Await waits for the first output from a number on, and returns when it arrived.
func (l *Line) Await(t *testing.T, from int) time.Time {
	t.Helper()
	late := time.After(Patience)
	for {
		arrivals := l.arrived()
		if i := slices.IndexFunc(arrivals, func(a arrival) bool { return a.number >= from }); i >= 0 {
			return arrivals[i].at
		}
		select {
		case <-l.news:
		case <-late:
			t.Fatalf("channel %q: nothing came of message %d and later ones within %s", l.Name, from, Patience)
		}
	}
}

// Complete checks that every message that was sent has its output. It returns how many there
// are, how many outputs came, and how often their numbers went back, because something was
// delivered again.
func (l *Line) Complete(t *testing.T) (sent, outputs, back int) {
	t.Helper()
	sent = l.Sent()
	l.Await(t, sent-1)
	arrivals := l.arrived()
	seen := make([]bool, sent)
	last := -1
	for _, a := range arrivals {
		if a.number < last {
			back++
		}
		last = a.number
		if a.number < sent {
			seen[a.number] = true
		}
	}
	require.NotContains(t, seen, false, "channel %q lost a message", l.Name)
	return sent, len(arrivals), back
}

func (l *Line) arrived() []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrivals[:len(l.arrivals):len(l.arrivals)]
}

// listen takes the number of each output.
func (l *Line) listen(t *testing.T, broker annotate.Broker, topic annotate.Topic) {
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
			l.take(n)
			d.Ack()
		}
	})
	t.Cleanup(reading.Wait)
}

func (l *Line) take(n int) {
	l.mu.Lock()
	l.arrivals = append(l.arrivals, arrival{n, time.Now()})
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
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
