package rml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/iotenablers/enablers/annotate/rml/internal/resultset"
)

// flushAt is how many bytes of output a batch gathers before it writes them.
const flushAt = 64 << 10

// Run maps all records of the mapping's sources and writes one document to w.
// For blank nodes, a run counts as one message. After an error the document is
// incomplete: write to a buffer or a temporary file where that matters. An
// error about an input is a [*MessageError].
//
// CSV is read piece by piece, and files of JSON lines (.ndjson, .jsonl) line by
// line. JSON and XML are read in parts where the iterators allow it, see
// [Plan.Explain]; otherwise whole, into memory. Statements with a logical
// target are written there and not to w; a target appears when the whole run
// has succeeded.
func (m *Mapper) Run(ctx context.Context, w io.Writer, files Files) error {
	m.beginOutput(m.out[:0])
	m.limit = 0
	defer func() {
		m.out = nil
		m.limit = m.plan.limits.MaxStatements
		m.encoder.Reset()
		m.abortSinks()
	}()
	m.begin()
	if err := m.openSinks(); err != nil {
		return err
	}
	for i := range m.inputs {
		m.inputs[i].built = false
	}
	b := &batch{
		Mapper:  m,
		files:   files,
		loaded:  make([]bool, len(m.inputs)),
		streams: make(map[Source][]byte),
	}
	if err := b.buildIndexes(ctx); err != nil {
		return err
	}
	for in := range m.plan.inputs {
		if !m.plan.hasSteps(in) {
			continue
		}
		if err := b.feed(ctx, in, func() error { return b.steps(ctx, in, w) }); err != nil {
			return err
		}
	}
	if err := m.finishCollections(); err != nil {
		return err
	}
	if err := b.end(ctx, w); err != nil {
		return err
	}
	if err := m.flushSinks(files.Create, true); err != nil {
		return err
	}
	return m.commitSinks()
}

// batch is one run of a mapper over files.
type batch struct {
	*Mapper
	files  Files
	loaded []bool // inputs whose document holds the whole source

	message []byte // what is read in place of files, if it is not nil

	streams map[Source][]byte // streams and sources on the web that several inputs read
}

// buildIndexes builds the indexes of all joins.
func (b *batch) buildIndexes(ctx context.Context) error {
	for _, j := range b.plan.joins {
		if err := b.feed(ctx, j.input, func() error { return b.index(j) }); err != nil {
			return err
		}
		b.joins[j.index].built = true
	}
	return nil
}

// hasSteps reports whether a triples map reads an input.
func (p *Plan) hasSteps(in int) bool {
	return slices.ContainsFunc(p.steps, func(s *step) bool { return s.input == in })
}

// passes counts how often a batch reads each input.
func (p *Plan) passes() []int {
	passes := make([]int, len(p.inputs))
	for _, j := range p.joins {
		passes[j.input]++
	}
	for in, plan := range p.inputs {
		if p.hasSteps(in) {
			passes[in]++
		}
		if plan.view != nil {
			passes[plan.view.input]++
			for _, j := range plan.view.joins {
				passes[j.view]++
			}
		}
	}
	return passes
}

// steps runs the triples maps that read an input over what is loaded of it.
func (b *batch) steps(ctx context.Context, in int, w io.Writer) error {
	for i, s := range b.plan.steps {
		if s.input != in {
			continue
		}
		records, err := b.records(in, s.iterator)
		if err != nil {
			return err
		}
		if !s.joint {
			b.found[i] += len(records)
		}
		for _, record := range records {
			if err := b.record(s, record); err != nil {
				return b.during(s, record, err)
			}
			if len(b.out) >= flushAt {
				if err := b.flush(ctx, w); err != nil {
					return err
				}
			}
			if err := b.flushSinks(b.files.Create, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// end completes the document.
func (b *batch) end(ctx context.Context, w io.Writer) error {
	b.out = b.encoder.AppendEnd(b.out)
	if err := b.encoder.Err(); err != nil {
		return fmt.Errorf("write %s: %w", b.plan.format, err)
	}
	return b.flush(ctx, w)
}

func (b *batch) flush(ctx context.Context, w io.Writer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := w.Write(b.out)
	b.out = b.out[:0]
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// feed loads an input, in parts if its format has parts, and calls use for each
// part.
func (b *batch) feed(ctx context.Context, in int, use func() error) error {
	if b.loaded[in] {
		return use()
	}
	plan := b.plan.inputs[in]
	if plan.view != nil {
		return b.view(ctx, in, use)
	}
	if plan.table != nil {
		return b.table(ctx, in, use)
	}
	if b.message != nil {
		if plan.rows() {
			return b.rows(ctx, in, bytes.NewReader(b.message), largePiece, use)
		}
		return b.parts(ctx, in, bytes.NewReader(b.message), use)
	}
	file, err := b.open(ctx, plan.source)
	if err != nil {
		return b.inputError(in, err)
	}
	defer file.Close()
	reader, err := unpack(file, plan.source)
	if err != nil {
		return b.inputError(in, err)
	}
	switch {
	case plan.source.Kind == SourceEndpoint && plan.source.Access.MediaType == mediaTSV:
		reader = resultset.FromTSV(reader, maxRowSize)
	case plan.source.Kind == SourceFile && plan.source.Query != "":
		results, err := b.ask(ctx, reader, plan.source)
		if err != nil {
			return b.inputError(in, err)
		}
		defer results.Close()
		reader = results
	}
	switch {
	case plan.lines:
		return b.lines(ctx, in, reader, use)
	case plan.whole != "":
	case plan.rows():
		return b.rows(ctx, in, reader, pieceSize, use)
	default:
		return b.parts(ctx, in, reader, use)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return b.inputError(in, err)
	}
	if err := b.load(in, data); err != nil {
		return err
	}
	b.loaded[in] = true
	return use()
}

// open opens a source. A stream that several inputs read can be read only once,
// so its bytes are kept for the next input. So are those of a source on the web.
func (b *batch) open(ctx context.Context, source Source) (io.ReadCloser, error) {
	open := b.files.Open
	switch {
	case source.onTheWeb() && (b.files.Fetch != nil || source.Kind != SourceFile):
		open = func(source Source) (io.ReadCloser, error) { return b.fetch(ctx, source) }
	case open == nil:
		return nil, errors.New("Files.Open is nil")
	}
	readers := 0
	for _, in := range b.plan.sources {
		if source.passing() && b.plan.inputs[in].source == source {
			readers++
		}
	}
	if readers <= 1 {
		return open(source)
	}
	data, kept := b.streams[source]
	if !kept {
		stream, err := open(source)
		if err != nil {
			return nil, err
		}
		data, err = io.ReadAll(stream)
		if err = errors.Join(err, stream.Close()); err != nil {
			return nil, err
		}
		b.streams[source] = data
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// view builds the rows of a view from every part of the input below it, once.
func (b *batch) view(ctx context.Context, in int, use func() error) error {
	if !b.inputs[in].built {
		builder := b.newViewBuilder(in)
		err := b.feed(ctx, builder.plan.input, func() error {
			records, err := b.records(builder.plan.input, builder.plan.iterator)
			if err != nil {
				return err
			}
			return builder.add(records)
		})
		if err != nil {
			return err
		}
		for _, join := range builder.plan.joins {
			if err := b.feed(ctx, join.view, func() error { return nil }); err != nil {
				return err
			}
		}
		clear(b.inputs[in].selected)
		if err := builder.finish(in); err != nil {
			return err
		}
	}
	return use()
}

// RunLines maps each line of r as a message of its own, like [Mapper.Append],
// and writes one document to w. Blank lines are passed over. The first line
// that cannot be mapped ends it; the error names the line. Where the mapping says that its
// source is packed, or not UTF-8, r is, and not each line.
func (m *Mapper) RunLines(ctx context.Context, w io.Writer, r io.Reader) error {
	m.beginOutput(nil)
	defer func() {
		m.out = nil
		m.encoder.Reset()
	}()
	if source := m.plan.packed(); source != nil {
		text, err := unpack(r, *source)
		if err != nil {
			return &MessageError{Err: err}
		}
		r = text
		m.unpacked = true
		defer func() { m.unpacked = false }()
	}
	b := &batch{Mapper: m}
	scanner := newLineScanner(r, m.plan.limits.MaxBytes)
	line := 1
	for ; scanner.Scan(); line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(bytes.TrimSpace(scanner.Bytes())) > 0 {
			if err := m.message(scanner.Bytes()); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
		if len(m.out) >= flushAt {
			if err := b.flush(ctx, w); err != nil {
				return err
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line, lineError(err, m.plan.limits.MaxBytes))
	}
	return b.end(ctx, w)
}
