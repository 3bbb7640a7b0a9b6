package rml

import (
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// budget is what one message has used of its [Limits].
type budget struct {
	limit      int // of statements; 0 in a batch, which has none
	statements int
	spent      int       // bytes of statements, duplicates included
	ticks      int       // expressions evaluated
	deadline   time.Time // zero until the clock is read for the first time
}

// maxGathered is the most text that a batch keeps for the statements of one
// record. The output of a batch has no limit.
const maxGathered = 1 << 30

// clockEvery is how many expressions are evaluated between two readings of the
// clock. Most messages have fewer.
const clockEvery = 32

// memory returns how many bytes the nodes of one document may take, 0 for a batch, which
// has no limit.
func (m *Mapper) memory() int {
	if m.limit == 0 {
		return 0
	}
	return m.plan.limits.MaxMemory
}

// tick counts the evaluation of an expression. It returns an error when the
// message has taken too long.
func (m *Mapper) tick() error {
	m.ticks++
	if m.ticks%clockEvery != 0 || m.limit == 0 {
		return nil
	}
	now := time.Now()
	if m.deadline.IsZero() {
		m.deadline = now.Add(m.plan.limits.MaxTime)
	}
	if now.After(m.deadline) {
		return &MessageError{Err: fmt.Errorf("mapping it takes more than %v: %w", m.plan.limits.MaxTime, ErrLimit)}
	}
	return nil
}

// countStatement counts a statement of the output.
func (m *Mapper) countStatement() error {
	if m.statements++; m.limit > 0 && m.statements > m.limit {
		return &MessageError{Err: fmt.Errorf("it gives more than %d statements: %w", m.limit, ErrLimit)}
	}
	return nil
}

// spend counts the bytes of a statement, including duplicates that are dropped.
func (m *Mapper) spend(size int) error {
	if m.spent += size; m.limit > 0 && m.spent > m.plan.limits.MaxOutput {
		return m.tooMuchText()
	}
	return nil
}

// room returns an error when the terms of a record take too much memory. It is
// called where values multiply.
func (m *Mapper) room() error {
	switch {
	case m.limit == 0 && len(m.text) > maxGathered:
		return &MessageError{Err: fmt.Errorf("the terms of one record take more than %d bytes: %w", maxGathered, ErrLimit)}
	case m.limit == 0:
		return nil
	case len(m.terms) > m.limit:
		return &MessageError{Err: fmt.Errorf("one record gives more than %d terms: %w", m.limit, ErrLimit)}
	case len(m.text) > m.plan.limits.MaxOutput:
		return m.tooMuchText()
	}
	return nil
}

func (m *Mapper) tooMuchText() error {
	return &MessageError{Err: fmt.Errorf("it gives more than %d bytes: %w", m.plan.limits.MaxOutput, ErrLimit)}
}

// during adds the triples map and the record to an error that names no node.
func (m *Mapper) during(s *step, record input.Node, err error) error {
	var e *MessageError
	if errors.As(err, &e) && e.Node == "" {
		e.Node = s.node.String()
		e.Place = m.inputs[s.input].document.Place(record)
		if e.Source == "" {
			e.Source = m.inputError(s.input, nil).Source
		}
	}
	return err
}
