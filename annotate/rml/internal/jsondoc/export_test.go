package jsondoc

import (
	"strconv"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// NormalizedPath returns the normalized path (RFC 9535 section 2.7) of a node:
// $['rows'][0]['name'].
func (d *Document) NormalizedPath(n input.Node) string {
	b := []byte{'$'}
	d.descend(n, func(t *node, index int) {
		b = append(b, '[')
		if t.keyStart == 0 {
			b = strconv.AppendInt(b, int64(index), 10)
		} else {
			b = appendNormalName(b, d.key(t))
		}
		b = append(b, ']')
	})
	return string(b)
}

// appendNormalName appends a name selector in the one spelling that a
// normalized path allows.
func appendNormalName(b, name []byte) []byte {
	b = append(b, '\'')
	for _, c := range name {
		switch c {
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		case '\'':
			b = append(b, `\'`...)
		case '\\':
			b = append(b, `\\`...)
		default:
			if c < ' ' {
				b = append(b, `\u00`...)
				b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
				continue
			}
			b = append(b, c)
		}
	}
	return append(b, '\'')
}

// SetWindow sets how many bytes the first part of a stream has.
func (d *Document) SetWindow(size int) { d.window = size }
