package rdf_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

const (
	rdfNS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmlNS = "http://www.w3.org/XML/1998/namespace"
)

// xmlReader reads the part of RDF/XML that the encoder writes, and refuses all
// else.
type xmlReader struct {
	t       testing.TB
	decoder *xml.Decoder
	quads   []rdf.Quad
}

// readXML reads an RDF/XML document.
func readXML(t testing.TB, data []byte) []rdf.Quad {
	t.Helper()
	r := &xmlReader{t: t, decoder: xml.NewDecoder(bytes.NewReader(hideNames(t, data)))}
	declaration, ok := r.token().(xml.ProcInst)
	require.True(t, ok)
	require.Equal(t, `version="1.0" encoding="UTF-8"`, string(declaration.Inst))
	require.Equal(t, xml.Name{Space: rdfNS, Local: "RDF"}, r.start().Name)
	for {
		token := r.node()
		if _, ok := token.(xml.EndElement); ok {
			break
		}
		r.description(token)
	}
	if token := r.token(); token != nil {
		require.Empty(t, strings.TrimSpace(string(token.(xml.CharData))))
		require.Nil(t, r.token())
	}
	return r.quads
}

// token returns the next token, nil at the end.
func (r *xmlReader) token() xml.Token {
	token, err := r.decoder.Token()
	if err == io.EOF {
		return nil
	}
	require.NoError(r.t, err)
	return xml.CopyToken(token)
}

// node returns the next token that is not white space.
func (r *xmlReader) node() xml.Token {
	for {
		token := r.token()
		require.NotNil(r.t, token)
		text, ok := token.(xml.CharData)
		if !ok {
			return token
		}
		require.Empty(r.t, strings.TrimSpace(string(text)))
	}
}

func (r *xmlReader) start() xml.StartElement {
	element, ok := r.node().(xml.StartElement)
	require.True(r.t, ok)
	return element
}

func (r *xmlReader) description(token xml.Token) {
	element, ok := token.(xml.StartElement)
	require.True(r.t, ok)
	require.Equal(r.t, xml.Name{Space: rdfNS, Local: "Description"}, element.Name)
	attributes := r.attributes(element)
	require.Len(r.t, attributes, 1)
	subject := rdf.NewIRI(attributes[rdfNS+"about"])
	if label, ok := attributes[rdfNS+"nodeID"]; ok {
		subject = r.blank(label)
	}
	require.NotEmpty(r.t, subject.Value)
	for {
		token := r.node()
		if _, ok := token.(xml.EndElement); ok {
			return
		}
		property, ok := token.(xml.StartElement)
		require.True(r.t, ok)
		name := showName(r.t, property.Name.Local)
		require.NotEmpty(r.t, property.Name.Space)
		require.NotContains(r.t, []string{rdfNS + "li", rdfNS + "Description"}, property.Name.Space+name)
		r.quads = append(r.quads, rdf.Quad{
			Subject: subject, Predicate: rdf.NewIRI(property.Name.Space + name), Object: r.object(property),
		})
	}
}

func (r *xmlReader) object(property xml.StartElement) rdf.Term {
	attributes := r.attributes(property)
	require.LessOrEqual(r.t, len(attributes), 1)
	var text strings.Builder
	for {
		switch token := r.token().(type) {
		case xml.CharData:
			text.Write(token)
			continue
		case xml.EndElement:
		default:
			require.Fail(r.t, "not text", "%T", token)
		}
		break
	}
	for name, value := range attributes {
		switch name {
		case rdfNS + "resource", rdfNS + "nodeID":
			require.Empty(r.t, text.String())
			if name == rdfNS+"nodeID" {
				return r.blank(value)
			}
			return rdf.NewIRI(value)
		case rdfNS + "datatype":
			return rdf.NewTyped(text.String(), value)
		case xmlNS + "lang":
			return rdf.NewLang(text.String(), value)
		default:
			require.Fail(r.t, "unknown attribute", name)
		}
	}
	return rdf.NewLiteral(text.String())
}

func (r *xmlReader) blank(label string) rdf.Term {
	require.Regexp(r.t, ncName, label)
	return rdf.NewBlank(label)
}

// attributes returns the attributes that declare no namespace.
func (r *xmlReader) attributes(element xml.StartElement) map[string]string {
	found := map[string]string{}
	for _, a := range element.Attr {
		if a.Name.Space == "xmlns" || (a.Name.Space == "" && a.Name.Local == "xmlns") {
			require.NotEmpty(r.t, a.Value)
			require.NotEqual(r.t, xmlNS, a.Value)
			require.NotEqual(r.t, "http://www.w3.org/2000/xmlns/", a.Value)
			continue
		}
		name := strings.Replace(a.Name.Space, "xml", xmlNS, 1) + a.Name.Local
		if strings.HasPrefix(a.Name.Space, "http://") {
			name = a.Name.Space + a.Name.Local
		}
		require.NotContains(r.t, found, name)
		found[name] = a.Value
	}
	return found
}

// The names of XML 1.0 in its fifth edition (productions 4 and 4a) without ":".
const (
	nameStartChars = `A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}\x{200D}` +
		`\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}`
	nameChars = nameStartChars + `\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}\x{2040}`
)

var (
	ncName  = regexp.MustCompile(`^[` + nameStartChars + `][` + nameChars + `]*$`)
	tagName = regexp.MustCompile(`</?[^\s/>?]+`)
	hidden  = regexp.MustCompile(`一[0-9a-f]+一`)
)

// hideNames checks the names of all elements and writes what is not ASCII in
// them in hexadecimal: encoding/xml knows the fourth edition only.
func hideNames(t testing.TB, data []byte) []byte {
	return tagName.ReplaceAllFunc(data, func(tag []byte) []byte {
		name := strings.TrimLeft(string(tag), "</")
		for _, part := range strings.Split(name, ":") {
			require.Regexp(t, ncName, part)
		}
		out := tag[: len(tag)-len(name) : len(tag)-len(name)]
		for _, r := range name {
			if r < 0x80 {
				out = append(out, byte(r))
			} else {
				out = append(out, "一"+strconv.FormatInt(int64(r), 16)+"一"...)
			}
		}
		return out
	})
}

func showName(t testing.TB, name string) string {
	return hidden.ReplaceAllStringFunc(name, func(s string) string {
		r, err := strconv.ParseInt(strings.Trim(s, "一"), 16, 32)
		require.NoError(t, err)
		return string(rune(r))
	})
}
