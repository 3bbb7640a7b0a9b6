package rml

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Target is a place that a mapping writes statements to instead of the default
// output (RML-IO). Targets are comparable.
type Target struct {
	// Name is the path of a file as the mapping gives it.
	Name string
	// WorkingDirectory resolves a relative path against the current folder instead
	// of the mapping's folder.
	WorkingDirectory bool
	// Format is the serialization.
	Format rdf.Format
	// Encoding is the character encoding, UTF8 or UTF16.
	Encoding Encoding
	// Compression is the compression of the file.
	Compression Compression
}

// TargetWriter writes one target. The target does not exist before Commit.
type TargetWriter interface {
	io.Writer
	// Commit completes the output.
	Commit() error
	// Abort discards it. It does nothing after Commit.
	Abort() error
}

// maxTargets is how many targets one mapping may have: they are sets of bits.
const maxTargets = 64

// targetSet is a set of targets, by their index in the plan.
type targetSet uint64

// targets returns the set of the targets of a term map.
func (c *compiler) targets(tm *termMap) (targetSet, error) {
	var set targetSet
	for _, t := range tm.targets {
		i := 0
		for ; i < len(c.plan.targets) && c.plan.targets[i] != t; i++ {
		}
		if i == len(c.plan.targets) {
			if i == maxTargets {
				return 0, tm.node.errorf("the mapping has more than %d logical targets", maxTargets)
			}
			c.plan.targets = append(c.plan.targets, t)
		}
		set |= 1 << i
	}
	return set, nil
}

// sink buffers the statements of one target.
type sink struct {
	encoder *rdf.Encoder
	out     []byte
	writer  TargetWriter
	packer  *packer
}

// mark sets the targets of the terms from start on, if the mapping has any.
func (m *Mapper) mark(start int, targets targetSet) {
	if len(m.plan.targets) == 0 {
		return
	}
	for len(m.marks) < len(m.terms) {
		m.marks = append(m.marks, 0)
	}
	for i := start; i < len(m.terms); i++ {
		m.marks[i] = targets
	}
}

// emitProducts emits every combination of the subjects, predicates and objects
// that lie on the stack, for a mapping with targets.
func (m *Mapper) emitProducts(subjects, count, predicates, objects int) error {
	for s := subjects; s < subjects+count; s++ {
		for p := predicates; p < objects; p++ {
			for o := objects; o < len(m.terms); o++ {
				targets := m.marks[s] | m.marks[p] | m.marks[o]
				if err := m.emitMarked(targets, m.terms[s], m.terms[p], m.terms[o]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// emitMarked is emit for a mapping with targets: a statement goes to those of
// its terms and of its graph, and to the default output when it has none.
func (m *Mapper) emitMarked(targets targetSet, s, p, o []byte) error {
	if len(m.graphs) == 0 {
		return m.send(targets, s, p, o, nil)
	}
	for i, g := range m.graphs {
		if err := m.send(targets|m.graphMarks[i], s, p, o, g); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mapper) send(targets targetSet, s, p, o, g []byte) error {
	if targets == 0 {
		return m.add(s, p, o, g)
	}
	if len(g) > 0 {
		s, o = m.scoped(s, g, 0), m.scoped(o, g, 1)
	}
	for i := range m.sinks {
		if targets&(1<<i) != 0 {
			m.sinks[i].out = m.sinks[i].encoder.AppendEncoded(m.sinks[i].out, s, p, o, g)
		}
	}
	return nil
}

// openSinks creates a sink for each target of the plan.
func (m *Mapper) openSinks() error {
	m.sinks = m.sinks[:0]
	for _, t := range m.plan.targets {
		encoder, err := m.plan.newEncoder(t.Format)
		if err != nil {
			return fmt.Errorf("open target %q: %w", t.Name, err)
		}
		m.sinks = append(m.sinks, sink{encoder: encoder})
	}
	return nil
}

// flushSinks writes the buffers of the targets. At the end of the run it
// completes their documents.
func (m *Mapper) flushSinks(create func(Target) (TargetWriter, error), end bool) error {
	for i := range m.sinks {
		s := &m.sinks[i]
		name := m.plan.targets[i].Name
		if end {
			s.out = s.encoder.AppendEnd(s.out)
			if err := s.encoder.Err(); err != nil {
				return fmt.Errorf("write target %q: %w", name, err)
			}
		} else if len(s.out) < flushAt {
			continue
		}
		if s.writer == nil {
			if create == nil {
				return fmt.Errorf("create target %q: Files.Create is nil", name)
			}
			var err error
			if s.writer, err = create(m.plan.targets[i]); err == nil {
				s.packer, err = pack(s.writer, m.plan.targets[i])
			}
			if err != nil {
				return fmt.Errorf("create target %q: %w", name, err)
			}
		}
		_, err := s.packer.Write(s.out)
		s.out = s.out[:0]
		if err != nil {
			return fmt.Errorf("write target %q: %w", name, err)
		}
	}
	return nil
}

// commitSinks publishes the files of the targets.
func (m *Mapper) commitSinks() error {
	for i := range m.sinks {
		err := m.sinks[i].packer.Close()
		if err == nil {
			err = m.sinks[i].writer.Commit()
		}
		if err != nil {
			return fmt.Errorf("complete target %q: %w", m.plan.targets[i].Name, err)
		}
	}
	return nil
}

// abortSinks discards what was written to targets that are not complete.
func (m *Mapper) abortSinks() {
	for i := range m.sinks {
		if w := m.sinks[i].writer; w != nil {
			w.Abort()
		}
	}
	m.sinks = m.sinks[:0]
}
