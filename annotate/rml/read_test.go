package rml_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// readRDF reads what was written to a target, in any of the formats that the
// suites use.
func readRDF(t *testing.T, format rdf.Format, data []byte) []rdf.Quad {
	t.Helper()
	switch format {
	case rdf.RDFJSON:
		return readRDFJSON(t, data)
	case rdf.RDFXML:
		return readRDFXML(t, data)
	}
	reader, err := rdf.NewReader(bytes.NewReader(data), format, nil)
	require.NoError(t, err)
	var quads []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err, "%s", data)
		quads = append(quads, q)
	}
	return quads
}

// readRDFJSON reads statements about IRIs from RDF 1.1 JSON.
func readRDFJSON(t *testing.T, data []byte) []rdf.Quad {
	t.Helper()
	var document map[string]map[string][]struct {
		Type, Datatype, Lang string
		Value                any // a case of the suites has a number where the format wants text
	}
	require.NoError(t, json.Unmarshal(data, &document), "%s", data)
	var quads []rdf.Quad
	for subject, properties := range document {
		for predicate, objects := range properties {
			for _, o := range objects {
				q := rdf.Quad{Subject: rdf.NewIRI(subject), Predicate: rdf.NewIRI(predicate)}
				value := fmt.Sprint(o.Value)
				switch {
				case o.Type == "uri":
					q.Object = rdf.NewIRI(value)
				case o.Lang != "":
					q.Object = rdf.NewLang(value, o.Lang)
				default:
					require.Equal(t, "literal", o.Type)
					q.Object = rdf.NewTyped(value, o.Datatype)
				}
				quads = append(quads, q)
			}
		}
	}
	return quads
}

// readRDFXML reads statements about IRIs from flat RDF/XML.
func readRDFXML(t *testing.T, data []byte) []rdf.Quad {
	t.Helper()
	var document struct {
		Descriptions []struct {
			About      string `xml:"about,attr"`
			Properties []struct {
				XMLName  xml.Name
				Resource string `xml:"http://www.w3.org/1999/02/22-rdf-syntax-ns# resource,attr"`
				Datatype string `xml:"http://www.w3.org/1999/02/22-rdf-syntax-ns# datatype,attr"`
				Lang     string `xml:"http://www.w3.org/XML/1998/namespace lang,attr"`
				Text     string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"http://www.w3.org/1999/02/22-rdf-syntax-ns# Description"`
	}
	require.NoError(t, xml.Unmarshal(data, &document), "%s", data)
	var quads []rdf.Quad
	for _, d := range document.Descriptions {
		for _, p := range d.Properties {
			q := rdf.Quad{Subject: rdf.NewIRI(d.About), Predicate: rdf.NewIRI(p.XMLName.Space + p.XMLName.Local)}
			switch {
			case p.Resource != "":
				q.Object = rdf.NewIRI(p.Resource)
			case p.Lang != "":
				q.Object = rdf.NewLang(p.Text, p.Lang)
			default:
				q.Object = rdf.NewTyped(p.Text, p.Datatype)
			}
			quads = append(quads, q)
		}
	}
	return quads
}
