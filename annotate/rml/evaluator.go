package rml

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/anydoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// ValueKind is the natural kind of a value that an [Evaluator] found. It
// decides the datatype of a literal where the mapping names none (RML-Core,
// section on natural mapping).
type ValueKind uint8

// The kinds of value. In XML all values are a StringValue.
const (
	StringValue    ValueKind = iota
	IntegerValue             // a number written without fraction and exponent
	DoubleValue              // any other number
	BooleanValue             // "true" or "false"
	NullValue                // a null that is present; it gives no term
	CompositeValue           // an object or an array; it gives no term by itself

	// Only databases have these, see [Rows].

	DecimalValue  // an exact number, which may have a fraction
	DateValue     // as in xsd:date
	TimeValue     // as in xsd:time
	DateTimeValue // as in xsd:dateTime
	BinaryValue   // bytes, as in xsd:hexBinary
)

// Evaluator evaluates the iterators and references of one formulation in place
// of the built-in engine, see [Options]. It is for programs that need the
// results of another library. The built-in engines are faster, allocate nothing
// and follow their standards.
//
// All functions but Elements are required; otherwise [Compile] returns an
// error. All mappers of a plan use the Evaluator at the same time, so its
// functions must be safe for concurrent use. Only the function that Compile
// returns is called by one goroutine at a time: each mapper compiles its own. A
// panic in any of them becomes an error about the message or the mapping.
//
// The built-in reader checks a document before Parse gets it. The document is
// thus UTF-8, a JSON text (RFC 8259) or a well-formed XML document without a
// document type declaration, and within [Limits].MaxBytes, MaxDepth and
// MaxNodes. MaxNodes also bounds the records and composite values that are kept
// of one document. MaxTime is checked between two evaluations; an evaluation
// that never returns cannot be stopped.
type Evaluator struct {
	// Parse reads one whole document and returns its root, the node that iterators
	// are evaluated against. The evaluator chooses the type of its nodes; the
	// engine only passes them back. Nodes are dropped when the next document is
	// read. Parse must not change data, nor refer to it afterwards.
	Parse func(data []byte) (root any, err error)
	// Compile compiles an iterator or a reference. The expression is as the
	// mapping writes it, and never empty: an iterator that is not given is "$" for
	// JSONPath and "/" for XPath. namespaces are those that the logical source
	// declares, by prefix, or nil. It must not be changed. The
	// error should describe the fault; the caller adds the expression.
	//
	// The function that it returns selects nodes from a node: the root for an
	// iterator, a record for a reference. They come in the order in which records
	// are mapped, the same on each call. An absent key or element gives no result,
	// not an error. It does not keep the slice that it returns.
	Compile func(expr string, namespaces map[string]string) (func(node any) ([]any, error), error)
	// Value returns a node that a reference selected as text, with its natural
	// kind. The text of a composite value is one that Parse could read again. ok
	// is false when the node is not a value; it is skipped.
	Value func(node any) (text string, kind ValueKind, ok bool)
	// Elements returns the elements of an array; ok is false when the composite
	// value is not an array. Under the legacy vocabulary each element of an array
	// is a value. Elements is optional: nil means no arrays.
	Elements func(node any) (elements []any, ok bool)
}

// checkEvaluators returns an error for an incomplete evaluator.
func (o Options) checkEvaluators() error {
	for formulation, e := range o.Evaluators {
		switch {
		case formulation != JSONPath && formulation != XPath:
			return fmt.Errorf("evaluator for %q: only %s and %s can be evaluated by another", formulation, JSONPath, XPath)
		case e.Parse == nil || e.Compile == nil || e.Value == nil:
			return fmt.Errorf("evaluator for %q: Parse, Compile and Value are required", formulation)
		}
	}
	return nil
}

// compiler returns the evaluator as an input format that reads what the
// built-in format accepts.
func (e Evaluator) compiler(source logicalSource, builtIn input.Compiler, limits input.Limits) input.Compiler {
	engine := anydoc.Engine{
		Parse: e.Parse, Compile: e.Compile, Elements: e.Elements,
		Value: func(node any) (string, input.Kind, bool) {
			text, kind, ok := e.Value(node)
			return text, kind.input(), ok
		},
		Whole: "$",
	}
	if source.Formulation == XPath {
		engine.Whole = "/"
	}
	for _, ns := range source.details.namespaces {
		if engine.Namespaces == nil {
			engine.Namespaces = make(map[string]string)
		}
		engine.Namespaces[ns.prefix] = ns.iri
	}
	return anydoc.New(engine, builtIn, limits)
}

func (k ValueKind) input() input.Kind {
	switch k {
	case IntegerValue:
		return input.Integer
	case DoubleValue:
		return input.Double
	case BooleanValue:
		return input.Boolean
	case NullValue:
		return input.Null
	case CompositeValue:
		return input.Object
	case DecimalValue:
		return input.Decimal
	case DateValue:
		return input.Date
	case TimeValue:
		return input.Time
	case DateTimeValue:
		return input.DateTime
	case BinaryValue:
		return input.Binary
	}
	return input.String
}
