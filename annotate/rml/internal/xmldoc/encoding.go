package xmldoc

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// encodings are the encodings of one byte a character that an input may declare in the dialect of
// CARML, in lower case.
var encodings = map[string]*charmap.Charmap{
	"iso-8859-1": charmap.ISO8859_1, "latin1": charmap.ISO8859_1, "iso_8859-1": charmap.ISO8859_1, "l1": charmap.ISO8859_1,
	"iso-8859-2": charmap.ISO8859_2, "latin2": charmap.ISO8859_2, "iso-8859-15": charmap.ISO8859_15, "latin-9": charmap.ISO8859_15,
	"windows-1250": charmap.Windows1250, "cp1250": charmap.Windows1250, "windows-1251": charmap.Windows1251,
	"windows-1252": charmap.Windows1252, "cp1252": charmap.Windows1252,
}

// declaredEncoding finds the encoding in an XML declaration.
var declaredEncoding = regexp.MustCompile(`^<\?xml[ \t\r\n][^>]*?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]*)["']`)

// longestDeclaration is how many bytes of an input are searched for its encoding.
const longestDeclaration = 256

// transcode returns an input in UTF-8. Data in UTF-8 is returned as it is.
func (d *Document) transcode(data []byte) ([]byte, error) {
	switch {
	case hasAt(data, 0, "\xFE\xFF"), hasAt(data, 0, "\x00<\x00?"):
		return d.transcode16(data, 1)
	case hasAt(data, 0, "\xFF\xFE"), hasAt(data, 0, "<\x00?\x00"):
		return d.transcode16(data, 0)
	case hasAt(data, 0, "\xEF\xBB\xBF"):
		return data, nil
	}
	m := declaredEncoding.FindSubmatch(data[:min(len(data), longestDeclaration)])
	if m == nil {
		return data, nil
	}
	name := strings.ToLower(string(m[1]))
	if name == "us-ascii" || name == "ascii" {
		d.transcoded = true
		return data, nil
	}
	table := encodings[name]
	if table == nil {
		return data, nil
	}
	d.transcoded = true
	out := make([]byte, 0, len(data)+len(data)/8)
	for _, b := range data {
		if b < utf8.RuneSelf {
			out = append(out, b)
		} else {
			out = utf8.AppendRune(out, table.DecodeByte(b))
		}
	}
	return out, nil
}

// transcode16 is transcode for UTF-16, whose low byte is at an index of each pair.
func (d *Document) transcode16(data []byte, low int) ([]byte, error) {
	d.transcoded = true
	d.data = data
	if len(data)%2 != 0 {
		return nil, d.fail(len(data), "the input in UTF-16 has an odd number of bytes")
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += 2 {
		r := rune(data[i+low]) | rune(data[i+1-low])<<8
		if utf16.IsSurrogate(r) {
			second := rune(0)
			if i+3 < len(data) {
				second = rune(data[i+2+low]) | rune(data[i+3-low])<<8
			}
			if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
				return nil, d.fail(i, "half a surrogate pair in UTF-16")
			}
			i += 2
		}
		out = utf8.AppendRune(out, r)
	}
	return bytes.TrimPrefix(out, []byte("\uFEFF")), nil
}

// readable are the encodings that the dialect of CARML reads, for messages.
func readable() string {
	names := []string{"utf-8", "utf-16", "us-ascii"}
	for name := range encodings {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
