package interop_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/examples/weather"
)

const (
	lanes     = 12 // stations, each with an order of its own
	malformed = 41 // every so many messages one is not JSON
)

// stream is the load: numbered weather reports of several stations in turn,
// among them some that are malformed.
type stream struct {
	count  int
	source []weather.Observation
	number map[string]int // by the subject that a report is mapped to
	broken map[string]int // malformed messages by the digest of the payload
}

func newStream(t *testing.T, count int) *stream {
	t.Helper()
	s := &stream{count: count, source: observations(t), number: make(map[string]int, count), broken: map[string]int{}}
	for i := range count {
		if s.malformed(i) {
			s.broken[fmt.Sprintf("%x", sha256.Sum256(s.payload(i)))] = i
			continue
		}
		s.number[weather.Expected(s.observation(i))[0].Subject.Value] = i
	}
	require.Len(t, s.number, s.good(count), "every report has a subject of its own")
	require.Len(t, s.broken, count-s.good(count), "every malformed message differs")
	return s
}

// lane is the station of a message by number.
func lane(i int) int { return i % lanes }

// station is the name of a lane, the key of its messages.
func station(lane int) string {
	return []string{"EWR", "JFK", "LGA"}[lane%3] + string(rune('0'+lane/3))
}

func (s *stream) malformed(i int) bool { return i%malformed == malformed-1 }

// good is how many of the first messages are not malformed.
func (s *stream) good(first int) int { return first - first/malformed }

func (s *stream) observation(i int) weather.Observation {
	turn := i / lanes
	o := s.source[turn%len(s.source)]
	o.Station = station(lane(i))
	// The source has several reports for one hour.
	o.Time = o.Time.AddDate(turn/len(s.source), 0, 0).Add(time.Duration(turn) * time.Minute)
	return o
}

func (s *stream) payload(i int) []byte {
	text := weather.AppendJSON(nil, s.observation(i))
	if s.malformed(i) {
		return text[:len(text)-1]
	}
	return text
}

// tally keeps account of what has come out.
type tally struct {
	stream *stream

	mu       sync.Mutex
	changed  chan struct{} // closed by the next arrival
	times    []int         // how often each message came
	newest   [lanes]int    // the latest first appearance
	arrived  int           // different messages
	again    int           // further copies
	disorder int           // first appearances after a later message of the lane
	wrong    []string      // messages that were not sent, or with another graph
}

func newTally(s *stream) *tally {
	t := &tally{stream: s, changed: make(chan struct{}), times: make([]int, s.count)}
	for i := range t.newest {
		t.newest[i] = -1
	}
	return t
}

// add takes account of a message from the output topic. The graph of every
// message is compared when it comes for the first time.
func (y *tally) add(message []byte) {
	i, known := y.stream.number[subject(message)]
	y.mu.Lock()
	first := known && y.times[i] == 0
	if known {
		y.times[i]++
	}
	y.mu.Unlock()
	wrong := ""
	if !known {
		wrong = "not a report: " + string(message)
	} else if first {
		wrong = differs(y.stream.observation(i), message)
	}

	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case wrong != "":
		y.wrong = append(y.wrong, wrong)
	case !first:
		y.again++
	default:
		y.arrived++
		if i < y.newest[lane(i)] {
			y.disorder++
		}
		y.newest[lane(i)] = max(i, y.newest[lane(i)])
	}
	close(y.changed)
	y.changed = make(chan struct{})
}

// subject is the IRI that names the report, or "".
func subject(message []byte) string {
	const mark = "http://example.org/obs/"
	at := bytes.Index(message, []byte("<"+mark))
	if at < 0 {
		return ""
	}
	iri, _, _ := strings.Cut(string(message[at+1:]), ">")
	return iri
}

// differs describes how a message differs from what a report is mapped to.
func differs(o weather.Observation, message []byte) string {
	got, err := graph(message)
	if err != nil {
		return err.Error()
	}
	if want := weather.Expected(o); !rdftest.Isomorphic(got, want) {
		return rdftest.Diff(got, want)
	}
	return ""
}

// state is a tally at one moment.
type state struct{ arrived, again, disorder, wrong int }

func (y *tally) state() (state, <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return state{y.arrived, y.again, y.disorder, len(y.wrong)}, y.changed
}

// missing returns the numbers of the first few messages that never came.
func (y *tally) missing() (numbers []int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i, times := range y.times {
		if times == 0 && !y.stream.malformed(i) && len(numbers) < 10 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// doubled returns the numbers of the first few messages that came again.
func (y *tally) doubled() (numbers []int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i, times := range y.times {
		if times > 1 && len(numbers) < 10 {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// complaints returns the first few messages that are wrong.
func (y *tally) complaints() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.wrong[:min(3, len(y.wrong))])
}
