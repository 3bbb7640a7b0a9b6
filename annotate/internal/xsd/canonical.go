package xsd

import "bytes"

// CanonicalForm returns what appends a text of the lexical space of a datatype in the form that
// RDF4J gives it in Turtle, or nil for a datatype whose literals keep their text. The datatypes
// are xsd:integer, xsd:decimal, xsd:double and xsd:boolean (XML Schema part 2, canonical
// representations).
func CanonicalForm(datatype string) func(dst, text []byte) []byte {
	switch datatype {
	case Namespace + "integer":
		return appendInteger
	case Namespace + "decimal":
		return appendDecimal
	case Namespace + "double":
		return appendCanonicalDouble
	case Namespace + "boolean":
		return appendBoolean
	}
	return nil
}

func appendBoolean(dst, text []byte) []byte {
	switch string(bytes.TrimSpace(text)) {
	case "1", "true":
		return append(dst, "true"...)
	case "0", "false":
		return append(dst, "false"...)
	}
	return append(dst, text...)
}

func appendInteger(dst, text []byte) []byte {
	text = bytes.TrimSpace(text)
	negative := bytes.HasPrefix(text, []byte("-"))
	text = bytes.TrimLeft(bytes.TrimLeft(text, "+-"), "0")
	if len(text) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	return append(dst, text...)
}

func appendDecimal(dst, text []byte) []byte {
	whole, fraction, _ := bytes.Cut(bytes.TrimSpace(text), []byte("."))
	fraction = bytes.TrimRight(fraction, "0")
	start := len(dst)
	dst = appendInteger(dst, whole)
	if len(fraction) == 0 {
		return append(dst, ".0"...)
	}
	if string(dst[start:]) == "0" && bytes.HasPrefix(whole, []byte("-")) {
		dst = append(dst[:start], "-0"...)
	}
	return append(append(dst, '.'), fraction...)
}

func appendCanonicalDouble(dst, text []byte) []byte {
	switch text = bytes.TrimSpace(text); string(text) {
	case "INF", "+INF", "-INF", "NaN":
		return append(dst, text...)
	}
	return AppendDouble(dst, text)
}
