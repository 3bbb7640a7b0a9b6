package document

import (
	"cmp"
	"strings"
)

// The namespaces of the mapping language.
const (
	NamespaceR2RML = "http://www.w3.org/ns/r2rml#"
	nsOldRML       = "http://semweb.mmlab.be/ns/rml#"
	nsNewRML       = "http://w3id.org/rml/"
	NamespaceQL    = "http://semweb.mmlab.be/ns/ql#"
	NamespaceCARML = "http://carml.taxonic.com/carml/"
	nsFNML         = "http://semweb.mmlab.be/ns/fnml#"
	NamespaceCSVW  = "http://www.w3.org/ns/csvw#"
)

// Vocabulary is the generation of the language that a mapping node is written
// in.
type Vocabulary uint8

const (
	Legacy Vocabulary = iota // rr, rml of semweb.mmlab.be, ql, carml, fnml
	Modern                   // http://w3id.org/rml/
)

// languageNamespaces maps each namespace of the language to its generation.
var languageNamespaces = [...]struct {
	iri        string
	generation Vocabulary
}{
	{NamespaceR2RML, Legacy}, {nsOldRML, Legacy}, {nsNewRML, Modern}, {NamespaceQL, Legacy},
	{NamespaceCARML, Legacy}, {nsFNML, Legacy},
}

// carmlAliases are the deprecated CARML properties that mean the same as the
// plain ones: a plain reference already yields as many values as there are.
var carmlAliases = map[string]string{
	"multiReference":     "reference",
	"multiTemplate":      "template",
	"multiFunctionValue": "functionValue",
	"multiJoinCondition": "joinCondition",
}

// fnmlAliases are the properties of FNML before it became part of RML.
var fnmlAliases = map[string]string{
	"execution": "functionExecution",
	"output":    "return",
	"value":     "inputValue",
	"valueMap":  "inputValueMap",
}

// LocalName splits a term of the language into its local name, the same for
// both generations, and its generation. It reports false for other IRIs.
func LocalName(iri string) (name string, generation Vocabulary, ok bool) {
	for _, ns := range languageNamespaces {
		if rest, found := strings.CutPrefix(iri, ns.iri); found && rest != "" {
			switch ns.iri {
			case NamespaceCARML:
				rest = cmp.Or(carmlAliases[rest], rest)
			case nsFNML:
				rest = cmp.Or(fnmlAliases[rest], rest)
			case NamespaceR2RML:
				if rest == "column" {
					rest = "reference"
				}
			}
			return rest, ns.generation, true
		}
	}
	return "", Legacy, false
}

// properties lists, for each kind of mapping node, the properties of the
// language that the engine understands there. Another property of the
// language on such a node is a mistake; properties of other vocabularies are
// comments.
var properties = map[string][]string{
	"triples map":            {"logicalSource", "logicalTable", "subjectMap", "subject", "predicateObjectMap", "baseIRI"},
	"logical source":         {"source", "referenceFormulation", "iterator", "query", "tableName", "sqlQuery", "sqlVersion"},
	"logical table":          {"tableName", "sqlQuery", "sqlVersion"},
	"stream":                 {"streamName", "encoding", "null", "compression", "declaresNamespace"},
	"file":                   {"url", "encoding", "null", "compression", "declaresNamespace"},
	"path":                   {"root", "path", "encoding", "null", "compression", "declaresNamespace"},
	"described file":         {"encoding", "null", "compression", "declaresNamespace"},
	"thing":                  {"declaresNamespace"},
	"service":                {},
	"dialect":                {},
	"namespace":              {"namespacePrefix", "namespaceName", "namespaceURL"},
	"formulation":            {"namespace"},
	"subject map":            {"class", "graph", "graphMap"},
	"predicate-object map":   {"predicate", "predicateMap", "object", "objectMap", "graph", "graphMap"},
	"object map":             {"datatype", "datatypeMap", "language", "languageMap"},
	"referencing object map": {"parentTriplesMap", "joinCondition"},
	"condition":              {"functionExecution", "return", "returnMap"},
	"target":                 {"root", "path", "encoding", "compression"},
	"join condition":         {"child", "parent", "childMap", "parentMap"},
	"function execution":     {"function", "functionMap", "input"},
	"logical target":         {"target", "serialization", "encoding", "compression", "mode"},
	"logical view":           {"viewOn", "field", "leftJoin", "innerJoin", "structuralAnnotation"},
	"view join":              {"parentLogicalView", "joinCondition", "field"},
	"field":                  {"fieldName", "field", "iterator", "referenceFormulation"},
	"input":                  {"parameter", "parameterMap", "inputValue", "inputValueMap"},
}

// Properties returns the properties of the language that the engine understands
// on a kind of mapping node, such as "triples map".
func Properties(kind string) []string { return properties[kind] }

// expressionProperties are allowed on every term map and expression map.
var expressionProperties = []string{
	"constant", "reference", "template", "termType",
	"functionValue", "functionExecution", "return", "returnMap", "condition",
	"logicalTarget", "gather", "gatherAs", "strategy", "allowEmptyListAndContainer",
	"inverseExpression", // for queries against the database, which this engine does not send
}

// ExpressionProperties returns the properties that every term map and every
// expression map may have.
func ExpressionProperties() []string { return expressionProperties }
