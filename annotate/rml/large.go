package rml

import (
	"context"
	"errors"
	"slices"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const (
	// largeMessage is the size from which on a message is mapped in parts.
	largeMessage = 256 << 10
	// largePiece is how much of a large message in CSV is loaded at a time.
	largePiece = 128 << 10
)

// divisible reports whether a message can be read in parts. Unlike a stream it can be read
// several times.
func (p *Plan) divisible() bool {
	return !slices.ContainsFunc(p.inputs, func(in *inputPlan) bool {
		return in.table != nil || (in.view == nil && (in.lines || in.reasonForWhole() != ""))
	})
}

// large maps a message in parts, so that what is kept of it does not grow with its size.
// It reports false, with the mapper as it was before, if only the whole message can be mapped.
func (m *Mapper) large(message []byte) (bool, error) {
	written := len(m.out)
	err := m.divided(message)
	var syntax *input.SyntaxError
	if !errors.As(err, &syntax) || !syntax.Parted {
		return true, err
	}
	m.encoder.Reset()
	m.out = m.out[:written]
	m.quads = nil
	m.rules = nil
	m.beginTally()
	m.begin()
	return false, nil
}

func (m *Mapper) divided(message []byte) error {
	b := &batch{Mapper: m, message: message, loaded: make([]bool, len(m.inputs))}
	ctx := context.Background()
	m.once = true // another part may generate the same statement
	if err := b.buildIndexes(ctx); err != nil {
		return err
	}
	for in := range m.plan.inputs {
		if !m.plan.hasSteps(in) {
			continue
		}
		selected := make([]int, len(m.plan.inputs[in].iterators))
		err := b.feed(ctx, in, func() error {
			for i, s := range m.plan.steps {
				if s.input != in {
					continue
				}
				if err := m.step(i, s); err != nil {
					return err
				}
			}
			return m.countRecords(in, selected)
		})
		if err != nil {
			return err
		}
	}
	return m.finishCollections()
}

// countRecords adds the records of a part to those of the parts before.
func (m *Mapper) countRecords(in int, selected []int) error {
	for i, records := range m.inputs[in].records {
		if m.inputs[in].selected[i] {
			selected[i] += len(records)
		}
		if limit := m.plan.limits.MaxRecords; selected[i] > limit {
			return m.tooManyRecords(in, selected[i])
		}
	}
	return nil
}
