package rml

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/dedup"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Mapper runs a plan. It keeps its buffers between messages, so only one
// goroutine at a time may use it. A plan can have any number of mappers.
type Mapper struct {
	plan    *Plan
	encoder *rdf.Encoder
	inputs  []inputState
	joins   []joinState

	out      []byte     // where statements go
	quads    []rdf.Quad // or here, when collect is set
	collect  bool
	tracing  bool      // whether rules has the part of the mapping that generated each quad
	rule     node      // the one that generates statements now
	rules    []node    // of quads
	lines    bool      // whether the output has a statement a line
	unpacked bool      // whether messages are lines of an input that was unpacked
	once     bool      // whether a statement may be a duplicate
	made     dedup.Set // those that were generated while once was set
	agreed   dedup.Set // subjects that a record was joined with, without duplicates
	budget

	// Stacks, used from the level at which a function finds them.
	values []input.Value
	ranges []valueRange
	key    []byte // of a join
	terms  [][]byte
	text   []byte    // what the terms are rendered into
	number []byte    // scratch for a number that is converted
	plain  []byte    // the text of a message that was packed
	digest []byte    // distinguishes the blank nodes of this message
	fresh  int       // number of blank nodes without an expression
	graphs [][]byte  // of the statements that are being generated
	union  [][]byte  // scratch for graphs
	labels [2][]byte // scratch for blank nodes in named graphs

	marks      []targetSet // of the terms, when the mapping has targets
	graphMarks []targetSet // of the graphs, likewise
	sinks      []sink

	uses      map[input.Path]*pathUse // what is evaluated how often, for LintSample
	tally     Tally
	illTyped  []illTyped      // of the run that tally counts
	irregular []irregularRows // likewise
	found     []int           // records by step of the plan, since the tally was begun

	collections []*collection // named, in the order of their first appearance
	collected   map[string]int
}

// inputState is a document of the plan with its records.
type inputState struct {
	document input.Document
	single   singler        // the document, if it is one
	bounded  input.Bounded  // likewise
	records  [][]input.Node // by iterator; nil until selected
	selected []bool
	built    bool     // whether the rows of a view are built
	piece    int      // of the source that the document holds
	nulls    []string // as in the plan
}

// NewMapper returns a mapper for the plan.
func (p *Plan) NewMapper() *Mapper {
	encoder, _ := p.newEncoder(p.format) // Compile has created one
	m := &Mapper{
		made: dedup.NewSet(), agreed: dedup.NewSet(),
		plan: p, encoder: encoder, budget: budget{limit: p.limits.MaxStatements},
		inputs: make([]inputState, len(p.inputs)), joins: make([]joinState, len(p.joins)), found: make([]int, len(p.steps)),
	}
	for i, in := range p.inputs {
		document := in.compiler.NewDocument()
		single, _ := document.(singler)
		bounded, _ := document.(input.Bounded)
		m.inputs[i] = inputState{
			document: document,
			single:   single,
			bounded:  bounded,
			nulls:    in.nulls,
			records:  make([][]input.Node, len(in.iterators)),
			selected: make([]bool, len(in.iterators)),
		}
	}
	return m
}

// newEncoder returns an encoder with the prefixes of the plan. A prefix of the
// mapping that the syntax cannot declare is not an error: the output is then
// written without prefixes.
func (p *Plan) newEncoder(format rdf.Format) (*rdf.Encoder, error) {
	encoder, err := rdf.NewEncoder(format, &rdf.EncoderOptions{Prefixes: p.prefixes})
	if err != nil {
		return rdf.NewEncoder(format, nil)
	}
	return encoder, nil
}

// Append maps one message and appends the statements to dst, as one document in
// the format of the plan. The mapping must read one source, which is the
// message. On an error, which is a [*MessageError], Append returns dst
// unchanged. The message must not change during the call; the mapper does not
// keep it.
//
// A message of 256 KiB or more is mapped in parts where the iterators allow it, see
// [Plan.Explain]. The statements are the same, in an order that may differ.
func (m *Mapper) Append(dst, message []byte) ([]byte, error) {
	m.beginOutput(dst)
	err := m.message(message)
	out := m.out
	m.out = nil
	if err != nil {
		m.encoder.Reset()
		return dst, err
	}
	return m.endDocument(dst, out)
}

// beginOutput begins a run that appends its output to out.
func (m *Mapper) beginOutput(out []byte) {
	m.out = out
	m.collect = false
	m.lines = m.plan.lines
	m.beginTally()
}

// endDocument completes a document that was appended to dst.
func (m *Mapper) endDocument(dst, out []byte) ([]byte, error) {
	out = m.encoder.AppendEnd(out)
	if err := m.encoder.Err(); err != nil {
		m.encoder.Reset()
		return dst, &MessageError{Err: err}
	}
	return out, nil
}

// Quads maps one message and returns its statements. It is [Mapper.Append] for
// programs that process the statements; it allocates them.
func (m *Mapper) Quads(message []byte) ([]rdf.Quad, error) {
	m.quads = nil
	m.collect = true
	m.lines = false
	m.beginTally()
	err := m.message(message)
	quads := m.quads
	m.quads = nil
	m.collect = false
	if err != nil {
		return nil, err
	}
	return quads, nil
}

func (m *Mapper) message(message []byte) error {
	if n := m.plan.distinctSources(); n != 1 {
		return &MessageError{Err: fmt.Errorf("the mapping reads %d sources: one message can replace only one", n)}
	}
	if limit := m.plan.limits.MaxBytes; len(message) > limit {
		return &MessageError{Err: fmt.Errorf("the message has %d bytes, the limit is %d: %w", len(message), limit, ErrLimit)}
	}
	m.begin()
	if len(m.plan.targets) > 0 {
		return &MessageError{Err: errors.New("the mapping has logical targets: one message can only go to one output")}
	}
	if source := m.plan.packed(); source != nil && !m.unpacked {
		var err error
		if message, err = m.unpack(message, *source); err != nil {
			return err
		}
	}
	if m.plan.blanks {
		m.digest = appendDigest(m.digest[:0], message)
	}
	for i := range m.inputs {
		m.inputs[i].built = false
	}
	if len(message) >= largeMessage && m.plan.divides {
		if done, err := m.large(message); done {
			return err
		}
	}
	for _, in := range m.plan.sources {
		if err := m.load(in, message); err != nil {
			return err
		}
	}
	for i, s := range m.plan.steps {
		if err := m.step(i, s); err != nil {
			return err
		}
	}
	return m.finishCollections()
}

// distinctSources counts the sources that are read from outside. A source that
// is parsed several times with different namespaces counts once.
func (p *Plan) distinctSources() int {
	n := min(len(p.sources), 1)
	for i := 1; i < len(p.sources); i++ {
		if p.inputs[p.sources[i]].source != p.inputs[p.sources[0]].source {
			n++
		}
	}
	return n
}

// begin clears the state of the last message.
func (m *Mapper) begin() {
	m.tally.Statements += m.statements
	m.budget = budget{limit: m.limit}
	m.fresh = 0
	m.once = false
	m.digest = m.digest[:0]
	m.made.Reset()
	m.collections = nil
	m.collected = nil
	m.values = emptied(m.values)
	m.ranges = emptied(m.ranges)
	m.terms = emptied(m.terms)
	m.text = emptied(m.text)
	m.plain = emptied(m.plain)
	for i := range m.joins {
		m.joins[i].reset()
	}
}

// keptEntries is how large a stack may be that is kept for the next message.
const keptEntries = 1 << 17

// emptied returns a stack without its entries. It frees a very large one.
func emptied[T any](stack []T) []T {
	if cap(stack) > keptEntries {
		return nil
	}
	return stack[:0]
}

// appendDigest appends 80 bits of the digest of a message, in characters that
// a blank node label may have.
func appendDigest(dst, message []byte) []byte {
	sum := sha256.Sum256(message)
	dst = append(dst, 'm')
	return labelEncoding.AppendEncode(dst, sum[:10])
}

var labelEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// load parses one input of the plan.
func (m *Mapper) load(in int, data []byte) error {
	state := &m.inputs[in]
	clear(state.selected)
	state.piece = 0
	if state.bounded != nil {
		state.bounded.Bound(m.memory())
	}
	if err := state.document.Load(data); err != nil {
		return m.inputError(in, err)
	}
	m.countIrregular(in)
	return nil
}

// inputError returns an error about a whole input.
func (m *Mapper) inputError(in int, err error) *MessageError {
	e := &MessageError{Place: syntaxPlace(err), Err: err}
	if source := m.plan.inputs[in].source; source.Kind != SourceStream && source.Kind != sourceView && source.Kind != 0 {
		e.Source = source.String()
	}
	return e
}

// records returns the records that an iterator selects from a loaded input.
func (m *Mapper) records(in, iterator int) ([]input.Node, error) {
	state := &m.inputs[in]
	if m.plan.inputs[in].view != nil && !state.built {
		clear(state.selected)
		if err := m.buildView(in); err != nil {
			return nil, err
		}
	}
	if !state.selected[iterator] {
		nodes, err := state.document.Records(state.records[iterator][:0], m.plan.inputs[in].iterators[iterator])
		if err != nil {
			return nil, m.inputError(in, err)
		}
		if m.plan.inputs[in].spread[iterator] {
			if nodes, err = spread(state.document, nodes); err != nil {
				return nil, m.inputError(in, err)
			}
		}
		if m.limit > 0 && len(nodes) > m.plan.limits.MaxRecords {
			return nil, m.tooManyRecords(in, len(nodes))
		}
		state.records[iterator] = nodes
		state.selected[iterator] = true
		if m.uses != nil {
			m.use(m.plan.inputs[in].iterators[iterator], len(nodes))
		}
	}
	return state.records[iterator], nil
}

func (m *Mapper) tooManyRecords(in, count int) error {
	return m.inputError(in, fmt.Errorf("the iterator selects %d records, the limit is %d: %w", count, m.plan.limits.MaxRecords, ErrLimit))
}

// arrays is implemented by documents of formats with arrays.
type arrays interface {
	// Items appends the elements of an array. It reports false for a node that
	// is none.
	Items(dst []input.Node, array input.Node) ([]input.Node, bool, error)
}

// spread replaces an array that is the only record by its elements.
func spread(document input.Document, records []input.Node) ([]input.Node, error) {
	source, ok := document.(arrays)
	if !ok || len(records) != 1 {
		return records, nil
	}
	items, isArray, err := source.Items(records[:0], records[0])
	if err != nil || isArray {
		return items, err
	}
	return records, nil
}

// place is the record that is being mapped.
type place struct {
	input  int
	record input.Node
}

// fail wraps an error with the mapping node and the place in the input.
func (m *Mapper) fail(g *generator, at place, n input.Node, err error) error {
	var wrapped *MessageError
	if errors.As(err, &wrapped) {
		return err
	}
	e := m.inputError(at.input, err)
	e.Node = g.node.String()
	e.Place = m.inputs[at.input].document.Place(n)
	return e
}
