package xmldoc

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// readText reads character data, CDATA sections included, up to the next
// other markup, as one text node.
func (d *Document) readText(i int, parent int32) (int, error) {
	data, j := d.data, i
	for j < len(data) && class[data[j]]&stopText == 0 {
		j++
	}
	if j == i || j == len(data) || data[j] != '<' || (j+1 < len(data) && data[j+1] == '!') {
		return d.readMixed(i, parent)
	}
	start, length, err := d.place(i, j)
	if err != nil {
		return 0, err
	}
	_, err = d.add(textNode, parent, i, start, length)
	return j, err
}

// skipPlain returns the offset of the first byte from i on that is not plain
// text: the beginning of markup or a reference, or a carriage return.
func (d *Document) skipPlain(i int) (int, error) {
	data := d.data
	for ; i < len(data); i++ {
		if class[data[i]]&stopText == 0 {
			continue
		}
		if data[i] != ']' {
			return i, nil
		}
		if hasAt(data, i, "]]>") {
			return 0, d.fail(i, "]]> outside of a CDATA section; write ]]&gt;")
		}
	}
	return i, nil
}

// readMixed is readText for data with references, CDATA sections or carriage
// returns.
func (d *Document) readMixed(i int, parent int32) (int, error) {
	begin, from := i, len(d.scratch)
	for i < len(d.data) {
		j, err := d.skipPlain(i)
		if err != nil {
			return 0, err
		}
		d.scratch = append(d.scratch, d.data[i:j]...)
		if i = j; i == len(d.data) {
			break
		}
		switch d.data[i] {
		case '&':
			if i, err = d.readReference(i); err != nil {
				return 0, err
			}
			continue
		case '\r':
			d.scratch = append(d.scratch, '\n')
			if i++; i < len(d.data) && d.data[i] == '\n' {
				i++
			}
			continue
		}
		if !hasAt(d.data, i, "<![CDATA[") {
			break
		}
		n := bytes.Index(d.data[i+9:], []byte("]]>"))
		if n < 0 {
			return 0, d.failEnd(i, "the CDATA section that begins here is never closed")
		}
		d.appendLines(d.data[i+9 : i+9+n])
		i += n + 12
	}
	if len(d.scratch) == from {
		return i, nil
	}
	start, length, err := d.placeScratch(from, begin)
	if err != nil {
		return 0, err
	}
	_, err = d.add(textNode, parent, begin, start, length)
	return i, err
}

// appendLines appends text to the scratch buffer with its line ends written
// as line feeds (section 2.11).
func (d *Document) appendLines(text []byte) {
	for {
		n := bytes.IndexByte(text, '\r')
		if n < 0 {
			d.scratch = append(d.scratch, text...)
			return
		}
		d.scratch = append(append(d.scratch, text[:n]...), '\n')
		if text = text[n+1:]; len(text) > 0 && text[0] == '\n' {
			text = text[1:]
		}
	}
}

// plainText returns the place of text in which only line ends are rewritten.
func (d *Document) plainText(start, end int) (uint32, uint32, error) {
	if bytes.IndexByte(d.data[start:end], '\r') < 0 {
		return d.place(start, end)
	}
	from := len(d.scratch)
	d.appendLines(d.data[start:end])
	return d.placeScratch(from, start)
}

// place returns the place of a text in the data.
func (d *Document) place(start, end int) (uint32, uint32, error) {
	if int64(end-start) >= rewritten {
		return 0, 0, d.fail(start, "a text longer than %d bytes", rewritten-1)
	}
	return uint32(start), uint32(end - start), nil
}

// placeScratch returns the place of the end of the scratch buffer, of text
// that was read at an offset.
func (d *Document) placeScratch(from, offset int) (uint32, uint32, error) {
	if int64(len(d.scratch)-from) >= rewritten {
		return 0, 0, d.fail(offset, "a text longer than %d bytes", rewritten-1)
	}
	return uint32(from), uint32(len(d.scratch)-from) | rewritten, nil
}

// attributeText returns the place of the attribute value whose quote is at i,
// normalised (section 3.3.3), and the offset after it.
func (d *Document) attributeText(i int) (start, length uint32, next int, err error) {
	data := d.data
	quote := d.data[i]
	stop := uint8(stopQuot)
	if quote == '\'' {
		stop = stopApos
	}
	open := i
	i++
	for i < len(data) && class[data[i]]&stop == 0 {
		i++
	}
	if i < len(data) && data[i] == quote {
		start, length, err = d.place(open+1, i)
		return start, length, i + 1, err
	}
	from := len(d.scratch)
	d.scratch = append(d.scratch, data[open+1:i]...)
	for i < len(data) && data[i] != quote {
		switch b := data[i]; {
		case b == '<':
			return 0, 0, 0, d.fail(i, "< in an attribute value; write &lt;")
		case b == '&':
			if i, err = d.readReference(i); err != nil {
				return 0, 0, 0, err
			}
			continue
		case class[b]&space != 0:
			d.scratch = append(d.scratch, ' ')
			if hasAt(data, i, "\r\n") {
				i++
			}
		default:
			d.scratch = append(d.scratch, b)
		}
		i++
	}
	if i == len(data) {
		return 0, 0, 0, d.failEnd(open, "the quote that begins here is never closed")
	}
	start, length, err = d.placeScratch(from, open)
	return start, length, i + 1, err
}

// readReference appends the text of the reference at i to the scratch buffer
// and returns the offset after it.
func (d *Document) readReference(i int) (int, error) {
	if hasAt(d.data, i, "&#") {
		return d.readCharReference(i)
	}
	end := i + 1
	for end < len(d.data) && class[d.data[end]]&inName != 0 {
		end++
	}
	if end == len(d.data) || d.data[end] != ';' || end == i+1 {
		return 0, d.fail(i, "& without a name and a semicolon after it; write &amp;")
	}
	var r byte
	name := d.data[i+1 : end]
	switch string(name) {
	case "lt":
		r = '<'
	case "gt":
		r = '>'
	case "amp":
		r = '&'
	case "apos":
		r = '\''
	case "quot":
		r = '"'
	default:
		return 0, d.fail(i, "the entity %.40q is not one of lt, gt, amp, apos and quot, and no other can be declared", name)
	}
	d.scratch = append(d.scratch, r)
	return end + 1, nil
}

// readCharReference is readReference for a number.
func (d *Document) readCharReference(i int) (int, error) {
	start, base := i+2, 10
	if hasAt(d.data, start, "x") {
		start, base = start+1, 16
	}
	end := start
	for end < len(d.data) && isDigit(d.data[end], base) {
		end++
	}
	if end == start || end == len(d.data) || d.data[end] != ';' {
		return 0, d.fail(i, "expected digits and a semicolon in a character reference")
	}
	digits := bytes.TrimLeft(d.data[start:end], "0")
	r := uint64(0)
	if len(digits) <= 8 {
		r, _ = strconv.ParseUint(string(digits), base, 32) // of digits only; none are 0
	}
	if len(digits) > 8 || r > utf8.MaxRune || !isChar(rune(r)) {
		return 0, d.fail(i, "the character reference %.40q is not a character that XML allows", d.data[i:end+1])
	}
	d.scratch = utf8.AppendRune(d.scratch, rune(r))
	return end + 1, nil
}

// isDigit reports whether b is a digit in base 10 or 16.
func isDigit(b byte, base int) bool {
	return (b >= '0' && b <= '9') || (base == 16 && ((b >= 'a' && b <= 'f') || (b >= 'A' && b <= 'F')))
}
