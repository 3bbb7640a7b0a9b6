package rdf

import (
	"bytes"
	"cmp"
	"strings"
)

// Resolve returns the IRI of a reference relative to a base (RFC 3986 section
// 5.2, without normalisation). An absolute reference is returned as it is, dot
// segments included, as RDF requires. The base must be an absolute IRI; its
// fragment does not matter.
func Resolve(base, ref string) string {
	if schemeLen(ref) > 0 {
		return ref
	}
	return splitIRI(base).resolve(ref)
}

// parts are the components of an IRI, each with the characters that mark it, so
// that together they are the IRI again.
type parts struct{ scheme, authority, path, query, fragment string }

func splitIRI(iri string) parts {
	var p parts
	if n := schemeLen(iri); n > 0 {
		p.scheme, iri = iri[:n], iri[n:]
	}
	if i := strings.IndexByte(iri, '#'); i >= 0 {
		iri, p.fragment = iri[:i], iri[i:]
	}
	if i := strings.IndexByte(iri, '?'); i >= 0 {
		iri, p.query = iri[:i], iri[i:]
	}
	if strings.HasPrefix(iri, "//") {
		end := strings.IndexByte(iri[2:], '/')
		if end < 0 {
			end = len(iri) - 2
		}
		p.authority, iri = iri[:end+2], iri[end+2:]
	}
	p.path = iri
	return p
}

// resolve resolves a reference that has no scheme.
func (p parts) resolve(ref string) string {
	r := splitIRI(ref)
	r.scheme = p.scheme
	switch {
	case r.authority != "":
		r.path = removeDots(r.path)
	case r.path == "":
		r.authority, r.path = p.authority, p.path
		if r.query == "" {
			r.query = p.query
		}
	case r.path[0] == '/':
		r.authority, r.path = p.authority, removeDots(r.path)
	default:
		r.authority, r.path = p.authority, removeDots(p.merge(r.path))
	}
	return r.scheme + r.authority + r.path + r.query + r.fragment
}

// merge puts a relative path in place of the last segment of the base.
func (p parts) merge(path string) string {
	if p.authority != "" && p.path == "" {
		return "/" + path
	}
	return p.path[:strings.LastIndexByte(p.path, '/')+1] + path
}

// removeDots removes the segments "." and ".." of a path (RFC 3986 section
// 5.2.4).
func removeDots(path string) string {
	if !strings.Contains(path, ".") {
		return path
	}
	out := make([]byte, 0, len(path))
	for in := path; in != ""; {
		switch {
		case strings.HasPrefix(in, "../"):
			in = in[3:]
		case strings.HasPrefix(in, "./"):
			in = in[2:]
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"), in == "/..":
			in = cmp.Or(in[3:], "/")
			out = out[:max(bytes.LastIndexByte(out, '/'), 0)]
		case in == ".", in == "..":
			in = ""
		default:
			end := strings.IndexByte(in[1:], '/') + 1
			if end == 0 {
				end = len(in)
			}
			out = append(out, in[:end]...)
			in = in[end:]
		}
	}
	return string(out)
}
