package rml

import (
	"cmp"
	"time"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Options tunes [Compile].
type Options struct {
	// Dialect is the reading of mappings and messages: that of the specifications, the
	// zero value, or that of CARML. An [Evaluator] keeps its own expressions in both; only
	// the terms are then those of the dialect.
	Dialect Dialect
	// Format is the syntax of the output. The zero value is N-Triples.
	Format rdf.Format
	// Base precedes the relative IRIs that term maps generate; a triples map
	// with an rml:baseIRI of its own uses that. Empty means
	// http://example.com/base/.
	Base string
	// Strict turns an invalid term into an error under the legacy vocabulary too.
	// Otherwise its statements are left out and counted there, see [Tally]. Strict
	// does not affect text outside the lexical space of its datatype: under the
	// new vocabulary it is always an error; under the legacy one the literal is
	// written unchanged, as CARML does, and counted.
	Strict bool
	// StrictInput refuses a message that is not JSON as RFC 8259 defines it in the dialect
	// of CARML too. Otherwise that dialect reads texts in single quotes or without quotes,
	// further commas and text after the value, as CARML's JSON reader does.
	StrictInput bool
	// Prefixes shorten the IRIs in Turtle output. Nil means those that the
	// mapping declares and its constants use.
	Prefixes []rdf.Prefix
	// Functions are added to the built-in functions. One with the IRI of a
	// built-in function replaces it.
	Functions []Function
	// Evaluators replace the built-in engines for JSONPath and XPath, by
	// formulation. Nil means the built-in ones.
	Evaluators map[Formulation]Evaluator
	// Limits bounds one message.
	Limits Limits
}

// Limits bounds what mapping one message may take. A zero field means the
// default. Errors about a limit match [ErrLimit].
type Limits struct {
	// MaxBytes is the largest message, in bytes; 16 MiB by default. Of the
	// files of a batch it bounds only the lines of JSON lines.
	MaxBytes int
	// MaxDepth is the deepest nesting of arrays, objects and elements; 256 by
	// default.
	MaxDepth int
	// MaxNodes is the largest number of values, elements and cells in one
	// document; 64 million by default.
	MaxNodes int
	// MaxMemory bounds the memory for the values, elements and cells of one message,
	// in bytes; by default 8 times MaxBytes, 128 MiB. A value in JSON takes 24
	// bytes, a cell 12 and an element, attribute or text in XML 36. With the lists of records and the
	// texts without escapes, a message that is parsed takes at most 16 times its
	// bytes. The values of one XPath expression may take as much again. MaxMemory does not
	// apply to a batch, and not to what an [Evaluator] keeps.
	MaxMemory int
	// MaxRecords is the largest number of records that an iterator may select
	// from one message; 1,000,000 by default. It does not apply to a batch.
	MaxRecords int
	// MaxTime is the longest that mapping one message may take, to within the
	// time of a few expressions; 10 seconds by default. It does not apply to a
	// batch, which ends with its context.
	MaxTime time.Duration
	// MaxStatements is the largest number of statements that one message may
	// give; 1,000,000 by default. It does not apply to a batch.
	MaxStatements int
	// MaxOutput is the most text that one message may give, in bytes as N-Quads,
	// duplicates included; 256 MiB by default. It also bounds the memory for the
	// terms of one record. It does not apply to the output of a batch.
	MaxOutput int
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.MaxBytes, 16<<20)
	set(&l.MaxDepth, 256)
	set(&l.MaxNodes, 64<<20)
	set(&l.MaxMemory, 8*l.MaxBytes)
	set(&l.MaxRecords, 1_000_000)
	set(&l.MaxStatements, 1_000_000)
	set(&l.MaxOutput, 256<<20)
	if l.MaxTime <= 0 {
		l.MaxTime = 10 * time.Second
	}
	return l
}

// defaultBase is the base of relative IRIs unless the options or the mapping
// have another.
const defaultBase = "http://example.com/base/"

func (o Options) chooseBase(tm *triplesMap) string { return cmp.Or(tm.base, o.Base, defaultBase) }
