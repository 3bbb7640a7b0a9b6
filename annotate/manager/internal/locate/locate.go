// Package locate finds the places that errors about messages name in the text of the message:
// JSON pointers, rows of CSV, XPaths, and lines with columns.
package locate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// Span is a part of a message, from the byte Start to the byte before End.
type Span struct{ Start, End int }

// Find returns the part of a message that a place names, and false if the message has no such
// place. The format is JSON, CSV or XML.
func Find(message []byte, format, place string) (Span, bool) {
	var line, column int
	if n, err := fmt.Sscanf(place, "line %d column %d", &line, &column); n == 2 && err == nil {
		return findLine(message, line, column)
	}
	switch format {
	case "JSON":
		if place == "" || place[0] == '/' {
			return findPointer(message, place)
		}
	case "CSV":
		var row int
		if n, _ := fmt.Sscanf(place, "row %d (line %d)", &row, &line); n == 2 {
			return findRow(message, line)
		}
	case "XML":
		if strings.HasPrefix(place, "/") {
			return findPath(message, strings.Split(place[1:], "/"))
		}
	}
	return Span{}, false
}

// findLine returns a line from a column on. Columns count bytes from 1.
func findLine(message []byte, line, column int) (Span, bool) {
	start := 0
	for range line - 1 {
		next := bytes.IndexByte(message[start:], '\n')
		if next < 0 {
			return Span{}, false
		}
		start += next + 1
	}
	end := len(message)
	if next := bytes.IndexByte(message[start:], '\n'); next >= 0 {
		end = start + next
	}
	at := start + column - 1
	if line < 1 || column < 1 || at > end {
		return Span{}, false
	}
	if at == end && at > start {
		at-- // the end of the line: its last character stands for it
	}
	return Span{at, end}, true
}

// findPointer returns the value that a JSON pointer (RFC 6901) names.
func findPointer(message []byte, pointer string) (Span, bool) {
	decoder := json.NewDecoder(bytes.NewReader(message))
	steps := strings.Split(pointer, "/")[1:]
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range steps {
		token, err := decoder.Token()
		if err != nil {
			return Span{}, false
		}
		isFound := false
		switch token {
		case json.Delim('{'):
			isFound = enterMember(decoder, unescape.Replace(step))
		case json.Delim('['):
			isFound = enterElement(decoder, step)
		}
		if !isFound {
			return Span{}, false
		}
	}
	start := int(decoder.InputOffset())
	for start < len(message) && strings.IndexByte(" \t\r\n:,", message[start]) >= 0 {
		start++
	}
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return Span{}, false
	}
	return Span{start, int(decoder.InputOffset())}, true
}

// enterMember reads an object up to the value of a member.
func enterMember(decoder *json.Decoder, name string) bool {
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false
		}
		if key == name {
			return true
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// enterElement reads an array up to an element.
func enterElement(decoder *json.Decoder, step string) bool {
	index, err := strconv.Atoi(step)
	if err != nil || index < 0 {
		return false
	}
	for ; index > 0 && decoder.More(); index-- {
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return false
		}
	}
	return index == 0 && decoder.More()
}

// findRow returns the row of a CSV text that begins on a line.
func findRow(message []byte, line int) (Span, bool) {
	whole, ok := findLine(message, line, 1)
	if !ok {
		return Span{}, false
	}
	reader := csv.NewReader(bytes.NewReader(message[whole.Start:]))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	if _, err := reader.Read(); err != nil {
		return whole, true
	}
	end := whole.Start + int(reader.InputOffset())
	return Span{whole.Start, whole.Start + len(bytes.TrimRight(message[whole.Start:end], "\r\n"))}, true
}

// findPath returns the element that an XPath of names and positions leads to. An
// attribute or a text is found with its element.
func findPath(message []byte, steps []string) (Span, bool) {
	for i, step := range steps {
		if strings.HasPrefix(step, "@") || strings.HasPrefix(step, "text()") || strings.HasPrefix(step, "comment()") {
			steps = steps[:i]
			break
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader(message))
	seen := []map[string]int{{}} // elements of each level, counted by name
	depth := 0
	matched := 0 // leading steps that the open elements match
	for {
		start := decoder.InputOffset()
		token, err := decoder.RawToken()
		if err != nil {
			return Span{}, false
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if token.Name.Space != "" {
				name = token.Name.Space + ":" + name
			}
			seen[depth][name]++
			if matched == depth && depth < len(steps) && steps[depth] == fmt.Sprintf("%s[%d]", name, seen[depth][name]) {
				matched++
				if matched == len(steps) {
					return Span{int(start), endOfElement(decoder)}, true
				}
			}
			depth++
			seen = append(seen[:depth], map[string]int{})
		case xml.EndElement:
			if depth--; depth < 0 || (matched > depth && matched > 0) {
				return Span{}, false // left the element that leads there
			}
		}
	}
}

// endOfElement returns where the element ends whose start was just read.
func endOfElement(decoder *xml.Decoder) int {
	end := int(decoder.InputOffset())
	for depth := 1; depth > 0; {
		token, err := decoder.RawToken()
		if err != nil {
			return end
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		end = int(decoder.InputOffset())
	}
	return end
}
