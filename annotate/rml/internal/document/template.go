package document

import (
	"errors"
	"fmt"
	"strings"
)

// Segment is one part of a template: text that is copied, or a reference.
type Segment struct {
	Text string
	Ref  string // empty for a text segment
}

// ParseTemplate splits a template into its segments (R2RML section 7.3).
// References are in braces; a backslash escapes a brace or a backslash,
// inside and outside of references.
func ParseTemplate(s string) ([]Segment, error) {
	var segments []Segment
	var part strings.Builder
	open := -1 // where the current reference began
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i+1 == len(s) {
				return nil, errors.New("it ends in a backslash that escapes nothing")
			}
			if next := s[i+1]; next != '{' && next != '}' && next != '\\' {
				return nil, fmt.Errorf(`at byte %d: "\%c" escapes nothing: expected \{, \} or \\`, i, next)
			}
			i++
			part.WriteByte(s[i])
		case c == '{' && open >= 0:
			return nil, fmt.Errorf("at byte %d: a brace opens inside the reference that began at byte %d; write \\{ "+
				"for a brace", i, open)
		case c == '{':
			if part.Len() > 0 {
				segments = append(segments, Segment{Text: part.String()})
				part.Reset()
			}
			open = i
		case c == '}' && open < 0:
			return nil, fmt.Errorf("at byte %d: a brace closes that was never opened; write \\} for a brace", i)
		case c == '}':
			if part.Len() == 0 {
				return nil, fmt.Errorf("at byte %d: the reference between the braces is empty", open)
			}
			segments = append(segments, Segment{Ref: part.String()})
			part.Reset()
			open = -1
		default:
			part.WriteByte(c)
		}
	}
	if open >= 0 {
		return nil, fmt.Errorf("the brace at byte %d is never closed", open)
	}
	if part.Len() > 0 {
		segments = append(segments, Segment{Text: part.String()})
	}
	return segments, nil
}
