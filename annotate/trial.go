package annotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
	"github.com/iotenablers/enablers/annotate/rml"
)

// Trial is the result of a mapping for one message, see [Mapping.Try].
type Trial struct {
	// Output is what a channel would publish. It is empty if the message fails, or violates the shapes.
	Output []byte
	// Statements are those of the output, each with the part of the mapping that created
	// it.
	Statements []rml.Made
	// Records is how many records the iterators of the mapping selected.
	Records int
	// Unmatched describes each triples map that selected no record.
	Unmatched []string
	// IrregularRows describes the rows of CSV that do not have the cells of the header.
	IrregularRows []rml.IrregularRows
	// Findings are what is valid and probably a mistake, with regard to the message.
	Findings []rml.Finding
	// Report is what the shapes of the mapping say of the output; a channel publishes none with
	// violations. Checked says whether there are shapes.
	Report  shacl.Report
	Checked bool
}

// Try maps one message as a channel with the mapping would, without a broker. The error is a
// [*rml.MappingError] with its line, or matches [ErrMapping] or is a [*FieldError] for a mapping
// that no channel can use, or is a [*rml.MessageError] for a message that cannot be mapped: the
// trial then has the findings that do not depend on the message. The limits bound the message
// and the statements; zero fields mean those of package rml. The dialect is that of [ChannelConfig], and
// the functions are those that the mapping may call besides the built-in ones.
func (m Mapping) Try(ctx context.Context, message []byte, dialect string, limits rml.Limits, functions ...rml.Function) (Trial, error) {
	if _, err := m.parse(); err != nil {
		return Trial{}, err // compile says it without the line
	}
	compiled, err := m.compile(dialect, limits, functions)
	if err != nil {
		return Trial{}, err
	}
	var t Trial
	plan := compiled.plan
	mapper := plan.NewMapper()
	if t.Output, err = mapper.Append(nil, message); err != nil {
		t.Findings = plan.Lint()
		return t, err
	}
	t.Records = mapper.Tally().Records
	t.Unmatched = mapper.Unmatched()
	t.IrregularRows = mapper.IrregularRows()
	if t.Statements, err = mapper.Trace(message); err != nil {
		return t, err
	}
	if t.Checked = compiled.shapes != nil; t.Checked {
		if t.Report, err = compiled.shapes.Validate(statementQuads(t.Statements)); err != nil {
			return t, &FieldError{"metadata.mapping.shapes", err.Error()}
		}
		if t.Report.Violations > 0 {
			t.Output = nil
		}
	}
	t.Findings, err = plan.LintSample(ctx, rml.LocalFiles("", bytes.NewReader(message)))
	if err != nil {
		var failed *rml.MessageError
		if !errors.As(err, &failed) {
			return t, fmt.Errorf("check mapping with message: %w", err)
		}
		t.Findings = plan.Lint() // as a file the message has other limits
	}
	return t, nil
}

func statementQuads(made []rml.Made) []rdf.Quad {
	quads := make([]rdf.Quad, len(made))
	for i := range made {
		quads[i] = made[i].Quad
	}
	return quads
}
