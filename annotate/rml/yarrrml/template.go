package yarrrml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// segment is one part of a template: text, or a reference.
type segment struct {
	text, ref string
}

// template splits a text into its segments. External references become text.
func (r *reader) template(v value, s string) []segment {
	var segments []segment
	var text strings.Builder
	for i := 0; i < len(s); {
		switch rest := s[i:]; {
		case strings.HasPrefix(rest, `\$(`):
			text.WriteString("$(")
			i += 3
		case strings.HasPrefix(rest, `\:`):
			text.WriteByte(':')
			i += 2
		case strings.HasPrefix(rest, "$("):
			ref, external, n := reference(rest[2:])
			if n == 0 {
				r.fail(v, "in %q the reference at character %d does not end: expected a parenthesis", s, i+1)
				return nil
			}
			i += 2 + n
			if known, ok := r.external[strings.TrimPrefix(ref, "_")]; external && ok {
				text.WriteString(known)
				continue
			}
			if ref == "" {
				r.fail(v, "in %q a reference is empty: expected a name between the parentheses", s)
			}
			if text.Len() > 0 {
				segments = append(segments, segment{text: text.String()})
				text.Reset()
			}
			segments = append(segments, segment{ref: ref})
		default:
			text.WriteByte(s[i])
			i++
		}
	}
	if text.Len() > 0 || len(segments) == 0 {
		segments = append(segments, segment{text: text.String()})
	}
	return segments
}

// reference reads a reference up to its parenthesis, and returns how many bytes it took, 0 if it
// does not end. It may contain parentheses in pairs; the closing one of a pair may be escaped.
func reference(s string) (ref string, external bool, n int) {
	var b strings.Builder
	external = strings.HasPrefix(s, "_")
	open := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (strings.IndexByte(`()\`, s[i+1]) >= 0 || (i == 0 && s[i+1] == '_')):
			i++
			if s[i] == ')' && open > 0 {
				open--
			}
			b.WriteByte(s[i])
		case c == '(':
			open++
			b.WriteByte(c)
		case c == ')' && open > 0:
			open--
			b.WriteByte(c)
		case c == ')':
			return b.String(), external, i + 1
		default:
			b.WriteByte(c)
		}
	}
	return "", false, 0
}

// expression states the constant, reference or template of a term map.
func (r *reader) expression(v value, t rdf.Term, text string, k kind) {
	text = r.expand(text)
	segments := r.template(v, text)
	if len(segments) == 0 {
		return
	}
	switch first := segments[0]; {
	case len(segments) == 1 && first.ref != "":
		r.state(v, t, nsRML+"reference", rdf.NewLiteral(first.ref))
	case len(segments) > 1:
		r.state(v, t, nsRR+"template", rdf.NewLiteral(joinSegments(segments)))
	case k == iriKind:
		r.state(v, t, nsRR+"constant", r.absolute(v, first.text))
	default:
		r.state(v, t, nsRR+"constant", rdf.NewLiteral(first.text))
	}
}

// joinSegments writes a template of R2RML.
func joinSegments(segments []segment) string {
	escape := strings.NewReplacer(`\`, `\\`, "{", `\{`, "}", `\}`)
	var b strings.Builder
	for _, s := range segments {
		if s.ref == "" {
			b.WriteString(escape.Replace(s.text))
			continue
		}
		b.WriteString("{" + escape.Replace(s.ref) + "}")
	}
	return b.String()
}
