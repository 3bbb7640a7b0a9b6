package rdf

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// shortener writes terms the way Turtle can: IRIs with a prefix or relative to
// the base where that is possible without any escape.
type shortener struct {
	head       []byte // the directives that open a document
	prefixes   []Prefix
	base       string     // the base as it is
	dir        string     // the base up to its last "/", if names may be relative to it
	predicates *shortened // two caches, so that a predicate is only replaced by another
	terms      *shortened
	last       *form // of the predicate before
}

// shortened is a cache of what is written for an IRI. It is direct-mapped, so that
// it needs no eviction and no allocation: at most cacheSlots IRIs of at most
// cacheLongest bytes each, and the last one longer than that.
type shortened struct {
	slots  [cacheSlots]form
	longer form
}

// form is an IRI in angle brackets with its short form. Statements are in much the
// same order in each message, so a predicate keeps the places to look at first:
// those of the predicate that followed it and of the IRI in its object. These
// entries may have been replaced, so they are compared.
type form struct {
	iri, short []byte
	next       *form // the predicate that followed
	object     *form // the IRI that was the object, or the datatype of it
}

const (
	cacheBits    = 9
	cacheSlots   = 1 << cacheBits
	cacheLongest = 256
)

// find returns the place of an IRI, and whether that held it already; if not, the
// caller fills it.
func (c *shortened) find(iri []byte) (*form, bool) {
	slot := &c.longer
	if n := len(iri); n >= 8 && n <= cacheLongest {
		tail, middle := binary.LittleEndian.Uint64(iri[n-8:]), binary.LittleEndian.Uint64(iri[(n-8)/2:])
		hash := (tail ^ middle*0x9E3779B97F4A7C15 + uint64(n)) * 0xFF51AFD7ED558CCD
		slot = &c.slots[hash>>(64-cacheBits)]
	}
	if equal(slot.iri, iri) {
		return slot, true
	}
	slot.iri = append(slot.iri[:0], iri...)
	return slot, false
}

func newShortener(o *EncoderOptions) *shortener {
	s := &shortener{prefixes: slices.Clone(o.Prefixes), base: o.Base, predicates: &shortened{}, terms: &shortened{}}
	for _, p := range s.prefixes {
		s.head = append(s.head, "@prefix "+p.Name+": <"+p.IRI+"> .\n"...)
	}
	if s.base != "" {
		s.head = append(s.head, "@base <"+s.base+"> .\n"...)
		s.dir = baseDir(s.base)
	}
	if len(s.head) > 0 {
		s.head = append(s.head, '\n')
	}
	slices.SortStableFunc(s.prefixes, func(a, b Prefix) int { return cmp.Compare(len(b.IRI), len(a.IRI)) })
	return s
}

// baseDir returns the part of a base that a relative path replaces nothing of,
// or "" if the base is not of the simple kind scheme://authority/path/.
func baseDir(base string) string {
	path, _, _ := strings.Cut(base, "#")
	path, _, _ = strings.Cut(path, "?")
	at := strings.Index(path, "://")
	if at < 0 || strings.Contains(path, "/./") || strings.Contains(path, "/../") {
		return ""
	}
	end := strings.LastIndexByte(path, '/')
	if end < at+3 {
		return ""
	}
	return path[:end+1]
}

// appendTerm appends a term given in canonical form.
func (s *shortener) appendTerm(dst, term []byte) []byte {
	dst, _ = s.appendFound(dst, term)
	return dst
}

// appendObject is appendTerm for the object of a predicate.
func (s *shortener) appendObject(dst, term []byte, predicate *form) []byte {
	if f := predicate.object; f != nil {
		// An IRI holds no "<", so what is found is all of it.
		if at := len(term) - len(f.iri); at >= 0 && equal(term[at:], f.iri) {
			dst = append(dst, term[:at]...)
			return append(dst, f.short...)
		}
	}
	dst, f := s.appendFound(dst, term)
	if f != nil {
		predicate.object = f
	}
	return dst
}

// appendFound appends a term and returns the place of the IRI that it is or has
// for a datatype; nil if absent.
func (s *shortener) appendFound(dst, term []byte) ([]byte, *form) {
	if len(term) == 0 || term[len(term)-1] != '>' || term[0] == '_' {
		return append(dst, term...), nil
	}
	at := 0
	if term[0] == '"' {
		at = min(lexicalEnd(term)+len("^^"), len(term)-1)
	}
	f, known := s.terms.find(term[at:])
	if !known {
		f.short = s.appendShort(f.short[:0], term[at:])
	}
	dst = append(dst, term[:at]...)
	return append(dst, f.short...), f
}

const (
	nextPredicate = " ;\n\t" // what stands before a predicate of the same subject
	nextObject    = " , "
)

// predicate returns the place of a predicate given in angle brackets, whose short
// form stands between nextPredicate and a space, and whether it is the predicate of
// the call before.
func (s *shortener) predicate(iri []byte) (f *form, same bool) {
	last := s.last
	if last == nil || last.next == nil || !equal(last.next.iri, iri) {
		return s.findPredicate(iri)
	}
	s.last = last.next
	return s.last, s.last == last
}

func (s *shortener) findPredicate(iri []byte) (f *form, same bool) {
	f, known := s.predicates.find(iri)
	if !known || f.short == nil {
		f.short = append(f.short[:0], nextPredicate...)
		if string(iri) == "<"+Type+">" {
			f.short = append(f.short, 'a')
		} else {
			f.short = s.appendShort(f.short, iri)
		}
		f.short = append(f.short, ' ')
	}
	same = known && f == s.last
	if s.last != nil {
		s.last.next = f
	}
	s.last = f
	return f, same
}

func (s *shortener) appendShort(dst, bracketed []byte) []byte {
	if len(bracketed) < 2 {
		return append(dst, bracketed...)
	}
	iri := bracketed[1 : len(bracketed)-1]
	for _, p := range s.prefixes {
		if local, ok := after(iri, p.IRI); ok && plainLocal(local) {
			dst = append(dst, p.Name...)
			dst = append(dst, ':')
			return append(dst, local...)
		}
	}
	if s.base != "" {
		if fragment, ok := after(iri, s.base); ok && len(fragment) > 0 && fragment[0] == '#' &&
			!strings.Contains(s.base, "#") {
			dst = append(dst, '<')
			dst = append(dst, fragment...)
			return append(dst, '>')
		}
		if name, ok := after(iri, s.dir); ok && s.dir != "" && len(name) > 0 && plainLocal(name) {
			dst = append(dst, '<')
			dst = append(dst, name...)
			return append(dst, '>')
		}
	}
	return append(dst, bracketed...)
}

func after(iri []byte, prefix string) ([]byte, bool) {
	if len(iri) < len(prefix) || string(iri[:len(prefix)]) != prefix {
		return nil, false
	}
	return iri[len(prefix):], true
}

// plainLocal reports whether a local name is a PN_LOCAL that needs no escape. It
// takes the common ASCII ones only: letters, digits, "_" and, inside, "-".
func plainLocal(local []byte) bool {
	all := name
	for _, c := range local {
		all &= classes[c]
	}
	return all != 0 && (len(local) == 0 || local[0] != '-')
}
