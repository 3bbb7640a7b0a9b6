package rml

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/dedup"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// joinState is the index of one join: the subjects of the parent by the values
// that the join conditions compare.
type joinState struct {
	built   bool
	chains  map[string]joinChain
	entries []joinEntry
	arena   []byte // the subjects
}

// joinChain is the first and the last entry of a key.
type joinChain struct{ first, last int }

// joinEntry is one subject of the parent. The entries of a key are chained in
// the order of the records; next is 0 for the last.
type joinEntry struct{ start, end, next int }

// add puts a subject at the end of the chain of a key. Entry 0 is never used.
func (j *joinState) add(key, subject []byte) {
	if len(j.entries) == 0 {
		j.entries = append(j.entries, joinEntry{})
	}
	start, n := len(j.arena), len(j.entries)
	j.arena = append(j.arena, subject...)
	j.entries = append(j.entries, joinEntry{start: start, end: len(j.arena)})
	chain, known := j.chains[string(key)]
	if known {
		j.entries[chain.last].next = n
	} else {
		chain.first = n
	}
	chain.last = n
	j.chains[string(key)] = chain
}

// reset empties the index. It frees a large one, because clearing takes time in
// proportion to the size.
func (j *joinState) reset() {
	if len(j.entries) > dedup.KeptStatements {
		*j = joinState{}
		return
	}
	j.built = false
	clear(j.chains)
	j.entries = j.entries[:0]
	j.arena = j.arena[:0]
}

// join pushes the subjects of the parent records that match a record.
func (m *Mapper) join(j *joinPlan, at place) error {
	state := &m.joins[j.index]
	if !state.built {
		if err := m.index(j); err != nil {
			return err
		}
		state.built = true
	}
	values, ranges, err := m.keys(j.child, at)
	if err != nil {
		return err
	}
	single := len(m.values)-values == len(m.ranges)-ranges
	if !single {
		m.agreed.Reset()
	}
	for more := len(m.ranges) > ranges; more; more = advance(m.ranges[ranges:]) {
		if err := errors.Join(m.tick(), m.room()); err != nil {
			return err
		}
		for e := state.chains[string(m.joinKey(ranges))].first; e != 0; e = state.entries[e].next {
			subject := state.arena[state.entries[e].start:state.entries[e].end]
			if single || m.agreed.Add(subject) {
				m.terms = append(m.terms, subject)
			}
		}
	}
	m.values = m.values[:values]
	m.ranges = m.ranges[:ranges]
	return nil
}

// index adds the records of the loaded parent input to the index.
func (m *Mapper) index(j *joinPlan) error {
	state := &m.joins[j.index]
	if state.chains == nil {
		state.chains = make(map[string]joinChain)
	}
	records, err := m.records(j.input, j.iterator)
	if err != nil {
		return err
	}
	terms, text := len(m.terms), len(m.text)
	for _, record := range records {
		at := place{input: j.input, record: record}
		if err := m.generate(j.subject, at); err != nil {
			return err
		}
		values, ranges, err := m.keys(j.parent, at)
		if err != nil {
			return err
		}
		for more := len(m.ranges) > ranges; more; more = advance(m.ranges[ranges:]) {
			if err := m.tick(); err != nil {
				return err
			}
			key := m.joinKey(ranges)
			for _, subject := range m.terms[terms:] {
				state.add(key, subject)
			}
			if m.limit > 0 && (len(state.entries) > m.limit || len(state.arena) > m.plan.limits.MaxOutput) {
				return &MessageError{
					Node: j.node.String(),
					Err: fmt.Errorf("the index of the join has more than %d entries or %d bytes: %w", m.limit,
						m.plan.limits.MaxOutput, ErrLimit),
				}
			}
		}
		m.values = m.values[:values]
		m.ranges = m.ranges[:ranges]
		m.terms = m.terms[:terms]
		m.text = m.text[:text]
	}
	return nil
}

// keys pushes the values of each side of the join conditions, one range a
// condition. It pushes no range when one side has no value, because then no
// record matches. It returns the previous heights of the stacks.
func (m *Mapper) keys(generators []*generator, at place) (values, ranges int, err error) {
	values, ranges = len(m.values), len(m.ranges)
	for _, g := range generators {
		start, terms := len(m.values), len(m.terms)
		if err := m.generate(g, at); err != nil {
			return values, ranges, err
		}
		for _, text := range m.terms[terms:] {
			m.values = append(m.values, input.Value{Text: text})
		}
		m.terms = m.terms[:terms]
		if len(m.values) == start {
			m.values = m.values[:values]
			m.ranges = m.ranges[:ranges]
			return values, ranges, nil
		}
		m.ranges = append(m.ranges, valueRange{start: start, end: len(m.values), current: start})
	}
	return values, ranges, nil
}

// joinKey renders the current combination of values. Each is preceded by its
// length, so that different combinations have different keys.
func (m *Mapper) joinKey(ranges int) []byte {
	key := m.key[:0]
	for _, r := range m.ranges[ranges:] {
		text := m.values[r.current].Text
		n := len(text)
		key = append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		key = append(key, text...)
	}
	m.key = key
	return key
}
