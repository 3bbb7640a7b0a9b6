// Package csvdoc is the CSV input format of the mapping engine: RFC 4180 read
// strictly, with the dialect fields of CSV on the Web (W3C "Metadata
// Vocabulary for Tabular Data", section 5.9).
//
// A document is a header and the rows after it. The records are the rows, a
// record's [input.Node] is the index of its row, and a reference is the name
// of a column. The typical message of a stream is a header and one row; its
// header is compared with the one before and, when the bytes are the same,
// neither parsed nor resolved again.
//
// The errors, all with the line, are: text that is not UTF-8, a quote inside an
// unquoted cell, text after a closing quote, a quote that is never closed, a
// carriage return that no line feed follows, and a row with more or fewer cells
// than the header. Two columns may share a name as long as no reference uses
// it. A byte order mark is skipped. A delimiter is never guessed. The lenient mode,
// [Dialect].Lenient, reads as CARML does: it detects the delimiter and accepts such rows.
//
// Large inputs are read in pieces: [Document.Split] returns the end of the last
// complete row of a piece, [Document.Load] reads the piece with the header,
// [Document.LoadRows] each piece after it.
package csvdoc
