package workload

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// samples is how many payloads of a run are compared as RDF.
const samples = 10

// Ledger keeps account of what came out of a stream: how much, in which order,
// and of some of it what it was. It is safe for concurrent use.
type Ledger struct {
	total int
	count atomic.Int64

	mu         sync.Mutex
	seen       []bool
	last       [Stations]int
	Lost       int
	Duplicates int
	Disordered int // messages behind a later one of their key
	Strange    int // payloads that none of the messages led to
	Bytes      int64
	sampled    map[int][]byte
}

// NewLedger returns a ledger for the messages 0 to total-1.
func NewLedger(total int) *Ledger {
	l := &Ledger{total: total, seen: make([]bool, total), sampled: map[int][]byte{}}
	for i := range l.last {
		l.last[i] = -1
	}
	return l
}

// Count returns how many different messages have come.
func (l *Ledger) Count() int64 { return l.count.Load() }

// Enter takes a payload, and returns the number of its message or -1.
func (l *Ledger) Enter(payload []byte) int {
	n, err := number(payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || n >= l.total {
		l.Strange++
		return -1
	}
	l.Bytes += int64(len(payload))
	if l.seen[n] {
		l.Duplicates++
		return n
	}
	l.seen[n] = true
	l.count.Add(1)
	if last := &l.last[n%Stations]; n < *last {
		l.Disordered++
	} else {
		*last = n
	}
	if n%max(1, l.total/samples) == 0 {
		l.sampled[n] = bytes.Clone(payload)
	}
	return n
}

// Close makes up the account. With a format it also compares the sampled
// payloads with what the messages should give. Whatever is not as it should be
// is the error; duplicates are not.
func (l *Ledger) Close(format *rdf.Format) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Lost = l.total - int(l.count.Load())
	if l.Lost > 0 || l.Disordered > 0 || l.Strange > 0 {
		return fmt.Errorf("of %d messages %d are lost, %d out of order, %d strange", l.total, l.Lost,
			l.Disordered, l.Strange)
	}
	if format == nil {
		return l.compareBytes()
	}
	return l.compareRDF(*format)
}

func (l *Ledger) compareBytes() error {
	w := NewWeather()
	for n, payload := range l.sampled {
		if !bytes.HasPrefix(payload, w.Message(n)) {
			return fmt.Errorf("message %d came as %q", n, payload)
		}
	}
	return nil
}

func (l *Ledger) compareRDF(format rdf.Format) error {
	loaded, err := rml.Load([]byte(Mapping), nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Format: rdf.NTriples, Strict: true})
	if err != nil {
		return err
	}
	mapper, w := plan.NewMapper(), NewWeather()
	for n, payload := range l.sampled {
		expected, err := mapper.Append(nil, w.Message(n))
		if err != nil {
			return err
		}
		want, err := statements(expected, rdf.NTriples)
		if err != nil {
			return err
		}
		have, err := statements(payload, format)
		if err != nil {
			return fmt.Errorf("output of message %d: %w", n, err)
		}
		if len(want) != Statements || !maps.Equal(want, have) {
			return fmt.Errorf("output of message %d is not what the mapping means: %s", n, payload)
		}
	}
	return nil
}

// statements reads a document without blank nodes as a set, so that equal
// graphs have equal sets.
func statements(document []byte, format rdf.Format) (map[rdf.Quad]struct{}, error) {
	reader, err := rdf.NewReader(bytes.NewReader(document), format, nil)
	if err != nil {
		return nil, err
	}
	set := map[rdf.Quad]struct{}{}
	for q, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		if q.Subject.Kind == rdf.Blank || q.Object.Kind == rdf.Blank {
			return nil, errors.New("there is a blank node")
		}
		set[q] = struct{}{}
	}
	return set, nil
}
