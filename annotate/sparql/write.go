package sparql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// parallel is the number of Graph Store requests at a time.
const parallel = 8

// refused returns why a message is refused permanently.
func refused(err error) error { return fmt.Errorf("refused by the store: %w", err) }

// graphs writes each message by a request of the Graph Store Protocol.
type graphs struct{ *store }

// Write implements sink.Writer.
func (g *graphs) Write(ctx context.Context, messages []annotate.Message) ([]error, error) {
	var outcomes []error
	for len(messages) > 0 {
		n := turn(messages)
		results := make([]error, n)
		var group sync.WaitGroup
		for i, m := range messages[:n] {
			group.Go(func() { results[i] = g.writeOne(ctx, m) })
		}
		group.Wait()
		for _, err := range results {
			if err != nil && !isFinal(err) {
				return outcomes, endpoint.Unavailable(err)
			}
			outcomes = append(outcomes, err)
		}
		messages = messages[n:]
	}
	return outcomes, nil
}

// turn returns how many of the messages may be written at a time: no two of one graph, of
// which the last one has to stay.
func turn(messages []annotate.Message) int {
	seen := map[string]bool{}
	for i, m := range messages[:min(parallel, len(messages))] {
		if seen[m.ID] {
			return i
		}
		seen[m.ID] = true
	}
	return min(parallel, len(messages))
}

func (g *graphs) writeOne(ctx context.Context, m annotate.Message) (err error) {
	defer func() { // of a goroutine of its own
		if cause := recover(); cause != nil {
			err = &finalError{fmt.Errorf("it cannot be written: the driver failed: %v", cause)}
		}
	}()
	statements, err := appendStatements(nil, m.Payload, "b")
	if err != nil {
		return &finalError{err}
	}
	name := graphName(g.topic, m.ID)
	if len(statements) == 0 {
		err = g.remove(ctx, name)
	} else {
		err = g.put(ctx, name, statements, m.Trace)
	}
	if err != nil && endpoint.Refuses(err) {
		return &finalError{refused(err)}
	}
	return err
}

// finalError is why a message never will be written.
type finalError struct{ error }

// Unwrap returns the cause.
func (e *finalError) Unwrap() error { return e.error }

func isFinal(err error) bool {
	var final *finalError
	return errors.As(err, &final)
}

// updates writes many messages by one SPARQL Update request.
type updates struct{ *store }

// prepared is a message as part of an update.
type prepared struct {
	graph      string
	statements []byte
	trace      annotate.Trace
	err        error // why it cannot be written
}

// Write implements sink.Writer.
func (u *updates) Write(ctx context.Context, messages []annotate.Message) ([]error, error) {
	parts := make([]prepared, len(messages))
	for i, m := range messages {
		// Labels of blank nodes hold for the whole request (SPARQL 1.1 Update section 3.1.1),
		// so those of each message have a prefix of their own.
		statements, err := appendStatements(nil, m.Payload, fmt.Sprintf("m%db", i))
		parts[i] = prepared{graph: graphName(u.topic, m.ID), statements: statements, trace: m.Trace, err: err}
	}
	return u.write(ctx, parts)
}

// write writes messages by one request. If the store refuses it, it divides them.
func (u *updates) write(ctx context.Context, parts []prepared) ([]error, error) {
	outcomes := make([]error, len(parts))
	request, n := newUpdateRequest(parts)
	for i, part := range parts {
		outcomes[i] = part.err
	}
	if n == 0 {
		return outcomes, nil
	}
	switch err := u.update(ctx, request, commonTrace(parts)); {
	case err == nil:
		return outcomes, nil
	case !endpoint.Refuses(err):
		return nil, endpoint.Unavailable(err)
	case len(parts) == 1:
		return []error{refused(err)}, nil
	}
	half := len(parts) / 2
	outcomes, err := u.write(ctx, parts[:half])
	if err != nil {
		return outcomes, err
	}
	others, err := u.write(ctx, parts[half:])
	return append(outcomes, others...), err
}

// commonTrace returns the trace of the messages if they have one in common. A request has only
// one, and each message's own span has the time that it took.
func commonTrace(parts []prepared) annotate.Trace {
	for _, part := range parts {
		if part.trace != parts[0].trace {
			return annotate.Trace{}
		}
	}
	return parts[0].trace
}

// newUpdateRequest returns the update that replaces the graphs of messages, and how many graphs that
// are. Of several messages with one graph the last one is written.
func newUpdateRequest(parts []prepared) ([]byte, int) {
	last := map[string]int{}
	for i, part := range parts {
		if part.err == nil {
			last[part.graph] = i
		}
	}
	var request, data bytes.Buffer
	for i, part := range parts {
		if at, ok := last[part.graph]; !ok || at != i {
			continue
		}
		fmt.Fprintf(&request, "DROP SILENT GRAPH <%s> ;\n", part.graph)
		if len(part.statements) > 0 {
			fmt.Fprintf(&data, "GRAPH <%s> {\n%s}\n", part.graph, part.statements)
		}
	}
	fmt.Fprintf(&request, "INSERT DATA {\n%s}\n", data.Bytes())
	return request.Bytes(), len(last)
}

// appendStatements appends the statements of a document in N-Quads in a form that is SPARQL
// and Turtle. The labels of blank nodes begin with the prefix.
func appendStatements(to, document []byte, prefix string) ([]byte, error) {
	reader, err := rdf.NewReader(bytes.NewReader(document), rdf.NQuads,
		&rdf.ReaderOptions{MaxBytes: int64(len(document)) + 1, MaxToken: len(document) + 64})
	if err != nil {
		return nil, err
	}
	labels := map[string]int{}
	for q, err := range reader.All() {
		if err != nil {
			return nil, fmt.Errorf("the output is not N-Quads: %w", err)
		}
		if !q.Graph.IsZero() {
			return nil, fmt.Errorf("the mapping puts a statement into the graph %q; a store names the graph of each message itself, "+
				"so remove rr:graphMap or rml:graphMap from the mapping", q.Graph.Value)
		}
		for _, term := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
			if to, err = appendTerm(to, term, labels, prefix); err != nil {
				return nil, err
			}
			to = append(to, ' ')
		}
		to = append(to, ".\n"...)
	}
	return to, nil
}

func appendTerm(to []byte, t rdf.Term, labels map[string]int, prefix string) ([]byte, error) {
	switch t.Kind {
	case rdf.Blank:
		n, ok := labels[t.Value]
		if !ok {
			n = len(labels)
			labels[t.Value] = n
		}
		return fmt.Appendf(to, "_:%s%d", prefix, n), nil
	case rdf.Literal:
		to = appendString(to, t.Value)
		switch {
		case t.Lang != "":
			return append(append(to, '@'), t.Lang...), nil
		case t.Datatype != "":
			return appendIRI(append(to, "^^"...), t.Datatype)
		}
		return to, nil
	}
	return appendIRI(to, t.Value)
}

// appendIRI appends an IRI. One with a character that IRIREF excludes, which an escape can
// bring in, is an error: it would end the term early.
func appendIRI(to []byte, iri string) ([]byte, error) {
	for _, c := range []byte(iri) {
		if c <= ' ' || bytes.IndexByte([]byte("<>\"{}|^`\\"), c) >= 0 {
			return nil, fmt.Errorf("the IRI %q has the character %q, which SPARQL does not allow", iri, c)
		}
	}
	return append(append(append(to, '<'), iri...), '>'), nil
}

// appendString appends a string. SPARQL replaces \u escapes before it reads a string (SPARQL
// 1.1 Query section 19.2), so a backslash of the value must not come before a u.
func appendString(to []byte, value string) []byte {
	to = append(to, '"')
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"':
			to = append(to, `\"`...)
		case c == '\\':
			to = append(to, `\\`...)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\r':
			to = append(to, `\r`...)
		case (c == 'u' || c == 'U') && i > 0 && value[i-1] == '\\':
			to = fmt.Appendf(to, `\u%04X`, c)
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}
