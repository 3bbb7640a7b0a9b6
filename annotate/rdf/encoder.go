package rdf

import (
	"fmt"
	"slices"
)

// Prefix is a name for the start of IRIs, as a @prefix directive declares it.
type Prefix struct {
	Name string // without the colon; empty for the default prefix
	IRI  string
}

// EncoderOptions are the optional settings of an [Encoder]. A nil
// *EncoderOptions means no prefixes and no base.
type EncoderOptions struct {
	// Prefixes are declared and used by Turtle, TriG and RDF/XML; the other
	// formats have none. Names and IRIs are checked by [NewEncoder]. RDF/XML
	// leaves out prefixes that XML reserves and those named rdf, which it
	// declares itself.
	Prefixes []Prefix
	// Base is an absolute IRI that Turtle and TriG declare and shorten IRIs
	// with; empty for none.
	Base string
	// MaxBytes bounds the memory for the statements of one RDF/JSON document,
	// which cannot be written before all statements are known. Zero means 64 MiB,
	// and at most 1 GiB is allowed. The other formats need no such bound.
	MaxBytes int
}

// largestMaxBytes bounds [EncoderOptions.MaxBytes].
const largestMaxBytes = 1 << 30

// Encoder writes statements in one format by appending them to byte slices. The
// output of a document is the concatenation of what [Encoder.AppendEncoded],
// [Encoder.Append] and, at last, [Encoder.AppendEnd] append; the slices in between
// may differ. Use one encoder for many documents: it allocates nothing once its
// buffers have grown. It must not be used concurrently.
//
// N-Triples and N-Quads write each statement as it comes. Turtle and TriG close a
// statement when the next one shows whether it continues the subject or the
// predicate. JSON-LD buffers the document, to write each subject once, and appends
// it in [Encoder.AppendEnd]. It flushes the buffer at 4 MiB; subjects that occur
// again get a further node object. RDF/JSON buffers the document too, up to
// [EncoderOptions.MaxBytes], because it has one place for each subject. RDF/XML
// writes each statement as it comes, under the element of the subject before if it
// is the same.
//
// RDF/XML cannot express some statements, and RDF/JSON none beyond its buffer:
// these are left out, and [Encoder.Err] returns an error.
type Encoder struct {
	format  Format
	graphs  bool // the format has named graphs
	writer  writer
	scratch []byte
	err     error // about the first statement that was left out
	ended   bool  // err is about a document that has ended
}

// writer writes documents in one syntax. The terms of a statement are as
// [Encoder.AppendEncoded] takes them; g is empty where the syntax has no named
// graphs.
type writer interface {
	// append appends a statement. If the syntax cannot express it, append returns
	// dst unchanged and an error.
	append(dst, s, p, o, g []byte) ([]byte, error)
	// appendEnd appends the end of the document. [writer.reset] follows.
	appendEnd(dst []byte) []byte
	// reset drops the document.
	reset()
}

// NewEncoder returns an encoder for the format. It refuses prefixes that are
// declared twice, have no valid name, or whose IRI is not absolute. A nil opts
// means the defaults.
func NewEncoder(f Format, opts *EncoderOptions) (*Encoder, error) {
	if opts == nil {
		opts = &EncoderOptions{}
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	syntax := f.Syntax()
	if syntax.newWriter == nil {
		return nil, fmt.Errorf("create encoder for %s: expected one of %s", f, FormatNames(nil))
	}
	return &Encoder{format: f, graphs: syntax.NamedGraphs, writer: syntax.newWriter(opts)}, nil
}

func (o *EncoderOptions) check() error {
	if o.Base != "" {
		if at, ok := ValidIRI([]byte(o.Base)); !ok {
			return fmt.Errorf("use base %q: not an absolute IRI (byte %d)", o.Base, at)
		}
	}
	if o.MaxBytes < 0 || o.MaxBytes > largestMaxBytes {
		return fmt.Errorf("use MaxBytes %d: not within 0 and %d", o.MaxBytes, largestMaxBytes)
	}
	for i, p := range o.Prefixes {
		if !validPrefix(p.Name) {
			return fmt.Errorf("use prefix %q: not a prefix name", p.Name)
		}
		if at, ok := ValidIRI([]byte(p.IRI)); !ok {
			return fmt.Errorf("use prefix %q: %q is not an absolute IRI (byte %d)", p.Name, p.IRI, at)
		}
		if slices.ContainsFunc(o.Prefixes[:i], func(q Prefix) bool { return q.Name == p.Name }) {
			return fmt.Errorf("use prefix %q: declared twice", p.Name)
		}
	}
	return nil
}

// Format returns the format that the encoder writes.
func (e *Encoder) Format() Format { return e.format }

// Append appends one statement. It is [Encoder.AppendEncoded] for terms that are
// not encoded yet.
func (e *Encoder) Append(dst []byte, q Quad) []byte {
	b := AppendTerm(e.scratch[:0], q.Subject)
	s := len(b)
	b = AppendTerm(b, q.Predicate)
	p := len(b)
	b = AppendTerm(b, q.Object)
	o := len(b)
	b = AppendTerm(b, q.Graph)
	e.scratch = b
	return e.AppendEncoded(dst, b[:s], b[s:p], b[p:o], b[o:])
}

// AppendEncoded appends one statement whose terms are in the canonical form of
// N-Triples already, as [AppendTerm] returns it. The terms are not checked and not
// kept: the caller may use their memory for the next statement. An empty
// g is the default graph. N-Triples, Turtle, RDF/XML and RDF/JSON have no named
// graphs: there the statement is written and g is dropped.
func (e *Encoder) AppendEncoded(dst, s, p, o, g []byte) []byte {
	e.begin()
	if !e.graphs {
		g = nil
	}
	dst, err := e.writer.append(dst, s, p, o, g)
	if err != nil && e.err == nil {
		e.err = err
	}
	return dst
}

// begin clears the error of the previous document.
func (e *Encoder) begin() {
	if e.ended {
		e.ended = false
		e.err = nil
	}
}

// Err returns an error about the first statement of the document that was left
// out, or nil if all were written. Until the next document begins, it refers to
// the document that [Encoder.AppendEnd] has closed. Statements are left out by
// RDF/XML and RDF/JSON only.
//
// RDF/XML has no form for predicates that do not end in a name of XML, such as
// <http://example.org/1>, for rdf:li and the other names that are its own syntax,
// and for the characters that XML 1.0 excludes: the controls but for tab, line feed
// and carriage return, U+FFFE and U+FFFF. The error of RDF/JSON is [ErrLimit].
func (e *Encoder) Err() error { return e.err }

// AppendEnd closes the document and prepares the encoder for the next one,
// which starts with its prefixes again. A document with no statement is empty,
// "[]" in JSON-LD, "{}" in RDF/JSON and an empty element in RDF/XML.
func (e *Encoder) AppendEnd(dst []byte) []byte {
	e.begin()
	dst = e.writer.appendEnd(dst)
	e.writer.reset()
	e.ended = true
	return dst
}

// Reset drops the unfinished document and its error: the next statement starts a
// new one.
func (e *Encoder) Reset() {
	e.writer.reset()
	e.err = nil
}
