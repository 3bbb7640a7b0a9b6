package rml

import (
	"context"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// maxRecordSize is the largest record of a stream.
const maxRecordSize = 1 << 30

// streamCompiler is implemented by formats whose inputs can be read in parts if the
// iterators allow it.
type streamCompiler interface {
	// Streams returns why an input cannot be read in parts, or "". With spread, the
	// elements of an array that an iterator selects are its records.
	Streams(iterators []input.Path, spread []bool) string
}

// streamDocument is the document of a streamCompiler.
type streamDocument interface {
	// Open begins an input. A record may have limit bytes.
	Open(r io.Reader, iterators []input.Path, spread []bool, limit int)
	// Next loads the next part of the input. It reports false at the end.
	Next() (bool, error)
}

// decideStreams notes for each source how it is read.
func (p *Plan) decideStreams() {
	passes := p.passes()
	for i, in := range p.inputs {
		if in.view != nil || in.source.Kind == 0 {
			continue
		}
		in.whole = in.reasonForWhole()
		if in.whole == "" && in.source.passing() && passes[i] > 1 {
			what := "a stream"
			if in.source.onTheWeb() {
				what = "a source on the web"
			}
			in.whole = fmt.Sprintf("%s is read once, and the mapping needs it %d times", what, passes[i])
		}
	}
}

// reasonForWhole returns why a source must be read whole, or "".
func (in *inputPlan) reasonForWhole() string {
	switch c := in.compiler.(type) {
	case *csvdoc.Compiler:
		return ""
	case streamCompiler:
		if in.lines {
			return ""
		}
		return c.Streams(in.iterators, in.spread)
	}
	return "its engine reads no parts"
}

// rows reports whether the source is CSV, read by the engine of this package.
func (in *inputPlan) rows() bool {
	_, ok := in.compiler.(*csvdoc.Compiler)
	return ok
}

// manner describes how a batch reads a source.
func (in *inputPlan) manner() string {
	switch {
	case in.lines:
		return "read line by line"
	case in.whole == "":
		return "streamed"
	}
	return "read whole: " + in.whole
}

// largest returns how large a record of a stream may be. A large message with records of that
// size takes less memory if it is read whole.
func (b *batch) largest() int {
	if b.message != nil {
		return max(largePiece, len(b.message)/8)
	}
	return maxRecordSize
}

// parts loads a source part by part.
func (b *batch) parts(ctx context.Context, in int, r io.Reader, use func() error) error {
	state, plan := &b.inputs[in], b.plan.inputs[in]
	document := state.document.(streamDocument)
	if state.bounded != nil {
		state.bounded.Bound(b.memory())
	}
	document.Open(r, plan.iterators, plan.spread, b.largest())
	for state.piece = 0; ; state.piece++ {
		more, err := document.Next()
		if err != nil {
			return b.inputError(in, err)
		}
		if !more {
			return nil
		}
		clear(state.selected)
		if err := use(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
