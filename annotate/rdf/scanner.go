package rdf

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"unicode/utf8"
)

// ErrLimit matches the error of a [Reader] for input that exceeds one of its
// limits.
var ErrLimit = errors.New("rdf: limit exceeded")

// SyntaxError is the place at which a document violates the grammar of its
// format.
type SyntaxError struct {
	Line   int // from 1
	Column int // in bytes, from 1
	Reason string
}

// Error returns the place and the reason in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// scanner is a window on a byte stream. It holds the bytes from the position to
// the end of the current token, and at most maxToken of them.
type scanner struct {
	in        io.Reader // nil when the window holds everything
	buf       []byte
	pos, end  int
	read      int64 // bytes of the stream up to end
	stopped   error // why there is nothing after end: io.EOF or an error
	cut       bool  // bytes after end were needed, and stopped is not io.EOF
	maxBytes  int64
	maxToken  int
	line      int
	lineStart int64 // offset in the stream
	generates bool  // the syntax has blank nodes without labels
	scratch   []byte
	interned  []string // direct-mapped by hash
	seed      maphash.Seed
}

const (
	windowSize      = 32 << 10
	internSlots     = 512
	internedLongest = 128
)

// at returns the byte n after the position, or -1 at the end of the input.
func (s *scanner) at(n int) int {
	if s.pos+n < s.end {
		return int(s.buf[s.pos+n])
	}
	return s.load(n)
}

// load makes the byte n after the position available and returns it, or -1.
func (s *scanner) load(n int) int {
	for s.pos+n >= s.end {
		if !s.fill() {
			s.cut = s.stopped != io.EOF
			return -1
		}
	}
	return int(s.buf[s.pos+n])
}

func (s *scanner) fill() bool {
	if s.stopped != nil {
		return false
	}
	if s.pos > 0 {
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	if s.end == len(s.buf) {
		if s.end >= s.maxToken {
			s.stopped = s.limit("token longer than %d bytes", s.maxToken)
			return false
		}
		size := min(max(windowSize, 2*len(s.buf)), s.maxToken)
		s.buf = append(make([]byte, 0, size), s.buf...)[:size]
	}
	for range 100 {
		n, err := s.in.Read(s.buf[s.end:])
		s.end += n
		s.read += int64(n)
		if s.read > s.maxBytes {
			over := int(s.read - s.maxBytes)
			s.end -= over
			s.read -= int64(over)
			err = s.limit("document longer than %d bytes", s.maxBytes)
			n = max(n-over, 0)
		}
		if err != nil && err != io.EOF && !errors.Is(err, ErrLimit) {
			err = fmt.Errorf("line %d: %w", s.line, err)
		}
		s.stopped = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.stopped = fmt.Errorf("line %d: %w", s.line, io.ErrNoProgress)
	return false
}

func (s *scanner) limit(format string, bound any) error {
	return fmt.Errorf("line %d: %s: %w", s.line, fmt.Sprintf(format, bound), ErrLimit)
}

// fail returns the error for what stands n bytes after the position.
func (s *scanner) fail(n int, format string, args ...any) error {
	return &SyntaxError{Line: s.line, Column: s.column(n), Reason: fmt.Sprintf(format, args...)}
}

// column returns the column of the byte n after the position.
func (s *scanner) column(n int) int {
	return int(s.read-int64(s.end-s.pos)+int64(n)-s.lineStart) + 1
}

// unexpected returns the error for a character that cannot stand here.
func (s *scanner) unexpected(want string) error {
	if s.at(0) < 0 {
		return s.fail(0, "the input ends where %s is expected", want)
	}
	r, _ := s.rune(0)
	return s.fail(0, "%q where %s is expected", r, want)
}

// rune decodes the character n after the position. The size is 0 at the end of
// the input and 1 with utf8.RuneError for bytes that are not UTF-8.
func (s *scanner) rune(n int) (rune, int) {
	c := s.at(n)
	if c < 0 {
		return utf8.RuneError, 0
	}
	if c < utf8.RuneSelf {
		return rune(c), 1
	}
	for i := 1; i < utf8.UTFMax && !utf8.FullRune(s.buf[s.pos+n:s.end]); i++ {
		s.at(n + i)
	}
	return utf8.DecodeRune(s.buf[s.pos+n : s.end])
}

// newline records that a line starts n bytes after the position.
func (s *scanner) newline(n int) {
	s.line++
	s.lineStart = s.read - int64(s.end-s.pos) + int64(n)
}

// skip skips white space and comments, over any number of lines.
func (s *scanner) skip() {
	for {
		c := s.at(0)
		switch c {
		case '\n':
			s.newline(1)
		case ' ', '\t', '\r':
		case '#':
			s.skipComment()
			continue
		default:
			return
		}
		s.pos++
	}
}

// skipInline passes spaces and tabs.
func (s *scanner) skipInline() {
	for c := s.at(0); c == ' ' || c == '\t'; c = s.at(0) {
		s.pos++
	}
}

func (s *scanner) skipComment() {
	for c := s.at(0); c >= 0 && c != '\n' && c != '\r'; c = s.at(0) {
		s.pos++
	}
}

// skipMark passes a byte order mark at the start of the input.
func (s *scanner) skipMark() {
	if s.at(0) == 0xEF && s.at(1) == 0xBB && s.at(2) == 0xBF {
		s.pos += 3
		s.lineStart = 3
	}
}

// intern returns b as a string. Frequent strings share memory.
func (s *scanner) intern(b []byte) string {
	if len(b) > internedLongest || s.interned == nil {
		return string(b)
	}
	slot := &s.interned[maphash.Bytes(s.seed, b)%internSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
