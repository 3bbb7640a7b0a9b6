package rdf

import (
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ReaderOptions are the optional settings of a [Reader]. A nil *ReaderOptions
// means the defaults.
type ReaderOptions struct {
	// Base is the absolute IRI that relative IRIs of Turtle and TriG are resolved
	// with until the document declares another. Without one, a relative IRI is an
	// error. N-Triples and N-Quads allow absolute IRIs only.
	Base string
	// MaxBytes bounds the length of the document in bytes; 0 means 64 MiB.
	// The IRIs that names and relative references in it stand for may be 128 times
	// as long in sum.
	MaxBytes int64
	// MaxToken bounds the length in bytes of one token: an IRI, a name, a string;
	// 0 means 1 MiB, and less than 64 means 64.
	MaxToken int
	// MaxDepth bounds how deep [ ] and ( ) may be nested; 0 means 64.
	MaxDepth int
}

// The default limits, and the largest ratio of the expanded IRIs of a document
// to its length, if it is not small.
const (
	defaultMaxBytes = 64 << 20
	defaultMaxToken = 1 << 20
	leastMaxToken   = 64
	defaultMaxDepth = 64
	maxExpansion    = 128
)

// Reader reads the statements of a document one by one. It is strict: a
// violation of the grammar is an error, and nothing is read after it. Its
// memory is bounded by its limits, not by the document, save for the prefixes
// that the document declares. It must not be used concurrently.
//
// Labels of blank nodes are kept, except that in Turtle and TriG those which start
// with "anon" get "anon_" before them. Blank nodes without a label are called
// anon1, anon2 and so on. So the two never clash, and a document always yields the
// same statements.
type Reader struct {
	scanner
	syntax   Syntax
	base     string
	baseIRI  parts
	prefixes []Prefix
	declared map[string]string // prefix name to IRI
	maxDepth int

	stack    []frame // open constructs; the bottom one is the statement
	inGraph  bool    // within { }
	graph    Term
	queue    [3]parsed // statements complete but not returned
	first    int       // index in queue of the first one
	queued   int
	anons    uint64
	expanded int64 // bytes of the IRIs written as names or relative
	lastLine int
	failed   error
}

// parsed is a statement and the line of its subject.
type parsed struct {
	quad Quad
	line int
}

// NewReader returns a reader of the format. It reads nothing yet. It returns an
// error for formats whose [Syntax] is not readable, a base that is not an
// absolute IRI and negative limits. A nil opts means the defaults.
func NewReader(r io.Reader, f Format, opts *ReaderOptions) (*Reader, error) {
	if opts == nil {
		opts = &ReaderOptions{}
	}
	syntax := f.Syntax()
	if !syntax.Readable {
		return nil, fmt.Errorf("create reader for %s: expected one of %s", f, FormatNames(func(s Syntax) bool { return s.Readable }))
	}
	if opts.Base != "" {
		if at, ok := ValidIRI([]byte(opts.Base)); !ok {
			return nil, fmt.Errorf("use base %q: not an absolute IRI (byte %d)", opts.Base, at)
		}
	}
	if opts.MaxBytes < 0 || opts.MaxToken < 0 || opts.MaxDepth < 0 {
		return nil, fmt.Errorf("create reader for %s: MaxBytes %d, MaxToken %d, MaxDepth %d: none may be below 0",
			f, opts.MaxBytes, opts.MaxToken, opts.MaxDepth)
	}
	rd := &Reader{
		scanner: scanner{
			in:        r,
			line:      1,
			maxBytes:  opts.MaxBytes,
			maxToken:  opts.MaxToken,
			interned:  make([]string, internSlots),
			seed:      maphash.MakeSeed(),
			generates: !syntax.Lines,
		},
		syntax:   syntax,
		declared: map[string]string{},
		maxDepth: opts.MaxDepth,
	}
	if rd.maxBytes == 0 {
		rd.maxBytes = defaultMaxBytes
	}
	if rd.maxToken == 0 {
		rd.maxToken = defaultMaxToken
	}
	rd.maxToken = max(rd.maxToken, leastMaxToken)
	if rd.maxDepth == 0 {
		rd.maxDepth = defaultMaxDepth
	}
	rd.setBase(opts.Base)
	rd.maxBytes = min(rd.maxBytes, math.MaxInt64-windowSize)
	return rd, nil
}

// Read returns the next statement, or io.EOF at the end of a valid document. Any other
// error is final: it is a [*SyntaxError], matches [ErrLimit], or is that of the
// underlying reader, with the line; every further call returns it again. Statements
// come as soon as they are complete, those about the content of [ ] and ( ) before the
// one around them.
func (r *Reader) Read() (Quad, error) {
	for r.queued == 0 {
		if r.failed != nil {
			return Quad{}, r.failed
		}
		r.failed = r.step()
		if r.cut { // then the last token may be half of one
			r.failed, r.queued = r.stopped, 0
		}
	}
	next := &r.queue[r.first]
	r.first++
	r.queued--
	if r.queued == 0 {
		r.first = 0
	}
	r.lastLine = next.line
	return next.quad, nil
}

// All returns the remaining statements as a sequence. An error other than io.EOF
// is its last element.
func (r *Reader) All() iter.Seq2[Quad, error] {
	return func(yield func(Quad, error) bool) {
		for {
			q, err := r.Read()
			if err == io.EOF {
				return
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
	}
}

// Line returns the line, from 1, where the subject of the statement stood that
// Read returned last; 0 before the first.
func (r *Reader) Line() int { return r.lastLine }

// Prefixes returns the prefixes declared so far, in the order of their first
// declaration and with the IRI of their last one.
func (r *Reader) Prefixes() []Prefix {
	all := slices.Clone(r.prefixes)
	for i := range all {
		all[i].IRI = r.declared[all[i].Name]
	}
	return all
}

// Base returns the base IRI in force: the last one declared, or that of the
// options.
func (r *Reader) Base() string { return r.base }

func (r *Reader) setBase(iri string) { r.base, r.baseIRI = iri, splitIRI(iri) }

// step reads on until a statement is queued or something else is complete.
func (r *Reader) step() error {
	if r.read == 0 {
		r.skipMark()
	}
	if r.syntax.Lines {
		return r.readLine()
	}
	return r.stepTurtle()
}

func (r *Reader) emit(q Quad, line int) {
	r.queue[r.queued] = parsed{q, line}
	r.queued++
}

// anonymous returns a new blank node.
func (r *Reader) anonymous() Term {
	r.anons++
	return NewBlank(anonymousPrefix + strconv.FormatUint(r.anons, 10))
}

const anonymousPrefix = "anon"

// blankTerm reads a label and returns its blank node.
func (s *scanner) blankTerm() (Term, error) {
	label, err := s.label()
	if err != nil {
		return Term{}, err
	}
	name := s.intern(label)
	if s.generates && strings.HasPrefix(name, anonymousPrefix) {
		name = anonymousPrefix + "_" + name
	}
	return NewBlank(name), nil
}

// literalTerm reads a quoted literal. The datatype is read by iri.
func (s *scanner) literalTerm(long bool, iri func() (string, error)) (Term, error) {
	text, err := s.quoted(long)
	if err != nil {
		return Term{}, err
	}
	lexical := s.intern(text)
	switch s.at(0) {
	case '@':
		tag, err := s.langTag()
		if err != nil {
			return Term{}, err
		}
		return NewLang(lexical, s.intern(tag)), nil
	case '^':
		if s.at(1) != '^' {
			return Term{}, s.fail(1, "a single ^ behind a literal")
		}
		s.pos += 2
		datatype, err := iri()
		if err != nil {
			return Term{}, err
		}
		return NewTyped(lexical, datatype), nil
	}
	return NewLiteral(lexical), nil
}
