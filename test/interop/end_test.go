package interop_test

import (
	"context"
	"testing"
	"time"
)

// retry is the pause before something is attempted again.
const retry = 50 * time.Millisecond

// The cables between the annotator and its brokers.
const (
	inputCable  = "input"
	outputCable = "output"
	noCable     = "" // directly
)

// end is a broker under the annotator, at its input, its output or both. The
// clients here share nothing with the code under test. They survive a restart of
// the broker.
type end interface {
	// topics makes what must be there before a channel can start.
	topics(names ...string)
	// input is the topic that a channel subscribes to.
	input() string
	// settings are those of a topic for the REST interface, by way of a cable.
	settings(topic, cable string) map[string]any
	// publisher returns what sends a message of a lane and waits until the
	// broker has confirmed it, however many attempts that takes.
	publisher(t *testing.T) func(ctx context.Context, lane int, payload []byte) error
	// consume hands over what comes on a topic, from the beginning until the
	// test ends.
	consume(t *testing.T, topic string, take func([]byte))
	// restart ends the broker and starts it again.
	restart()
	// cut takes a cable away, restore gives it back.
	cut(cable string)
	restore(cable string)
}
