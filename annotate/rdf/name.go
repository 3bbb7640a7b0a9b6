package rdf

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// keyword returns the word of letters at the position unless it is a prefixed
// name. It does not advance the position.
func (r *Reader) keyword() string {
	n := r.nameEnd(0, false)
	if n == 0 || n > 6 || r.at(n) == ':' {
		return ""
	}
	return r.intern(r.buf[r.pos : r.pos+n])
}

// resolvedIRI reads an IRIREF and resolves it.
func (r *Reader) resolvedIRI() (string, error) {
	if r.at(0) != '<' {
		return "", r.unexpected("an IRI")
	}
	column := r.column(0)
	raw, err := r.iriRef()
	if err != nil {
		return "", err
	}
	if schemeLen(raw) > 0 {
		return r.intern(raw), nil
	}
	if r.base == "" {
		return "", &SyntaxError{Line: r.line, Column: column, Reason: fmt.Sprintf("relative IRI <%s> without a base", shorten(raw))}
	}
	iri := r.baseIRI.resolve(string(raw))
	return iri, r.expand(len(iri))
}

// expand counts the length of an IRI that was written short. Otherwise a few
// bytes for a very long prefix could make a small document large.
func (r *Reader) expand(length int) error {
	r.expanded += int64(length)
	if r.expanded > maxExpansion*r.read+windowSize*maxExpansion {
		return r.limit("names expand to more than %d times the document", maxExpansion)
	}
	return nil
}

// iri reads an IRI, written in full or as a prefixed name.
func (r *Reader) iri(wanted string) (string, error) {
	if r.at(0) == '<' {
		return r.resolvedIRI()
	}
	n := 0
	if r.startsName(0) {
		n = r.nameEnd(0, false)
	}
	if r.at(n) != ':' {
		return "", r.unexpected(wanted)
	}
	namespace, ok := r.declared[string(r.buf[r.pos:r.pos+n])]
	if !ok {
		return "", r.fail(0, "prefix %q is not declared", shorten(r.buf[r.pos:r.pos+n]))
	}
	n, err := r.local(namespace, n+1)
	if err != nil {
		return "", err
	}
	r.pos += n
	return r.intern(r.scratch), r.expand(len(r.scratch))
}

// local reads a PN_LOCAL, which may be empty, from n after the position. It
// leaves the namespace with the local name in scratch and returns where the name
// ends.
func (r *Reader) local(namespace string, n int) (int, error) {
	out := append(r.scratch[:0], namespace...)
	end, size := n, len(out) // without dots at the end
	for {
		c := r.at(n)
		if len(out) > len(namespace) || c != '-' {
			run := r.buf[r.pos+n : r.end]
			for i, c := range run {
				if !is(c, name) {
					run = run[:i]
					break
				}
			}
			if len(run) > 0 {
				out = append(out, run...)
				n += len(run)
				end, size = n, len(out)
				c = r.at(n)
			}
		}
		switch {
		case c < 0:
			r.scratch = out[:size]
			return end, nil
		case c == '%':
			if !r.isHex(n+1) || !r.isHex(n+2) {
				return 0, r.fail(n, "\"%%\" without two hexadecimal digits")
			}
			out = append(out, r.buf[r.pos+n:r.pos+n+3]...)
			n += 3
		case c == '\\':
			c = r.at(n + 1)
			if c < 0 || !strings.ContainsRune(`_~.-!$&'()*+,;=/?#@%`, rune(c)) {
				return 0, r.fail(n, "wrong escape in a name")
			}
			out = append(out, byte(c))
			n += 2
		case c == '.':
			if len(out) == len(namespace) {
				r.scratch = out[:size]
				return end, nil
			}
			out = append(out, '.')
			n++
			continue
		case c == ':':
			out = append(out, ':')
			n++
		case c < utf8.RuneSelf && is(byte(c), name) && len(out) > len(namespace):
			continue // the window has moved on
		default:
			ch, wide := r.rune(n)
			if wide < 2 || (!isNameStart(ch) && (!isName(ch) || len(out) == len(namespace))) {
				r.scratch = out[:size]
				return end, nil
			}
			out = append(out, r.buf[r.pos+n:r.pos+n+wide]...)
			n += wide
		}
		end, size = n, len(out)
	}
}

func (r *Reader) isHex(n int) bool {
	c := r.at(n)
	return c >= 0 && is(byte(c), hex)
}
