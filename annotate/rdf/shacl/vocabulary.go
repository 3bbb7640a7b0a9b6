package shacl

import "github.com/iotenablers/enablers/annotate/rdf"

// Namespace is the namespace of SHACL.
const Namespace = "http://www.w3.org/ns/shacl#"

// The severities that SHACL defines. A shapes graph may have others.
const (
	Violation = Namespace + "Violation"
	Warning   = Namespace + "Warning"
	Info      = Namespace + "Info"
)

const (
	rdfsNamespace   = "http://www.w3.org/2000/01/rdf-schema#"
	rdfsClass       = rdfsNamespace + "Class"
	rdfsSubClassOf  = rdfsNamespace + "subClassOf"
	owlClass        = "http://www.w3.org/2002/07/owl#Class"
	nodeShapeType   = Namespace + "NodeShape"
	propertyShape   = Namespace + "PropertyShape"
	componentSuffix = "ConstraintComponent"
)

// role describes what a term of SHACL means as a predicate of a shape.
type role uint8

const (
	foreign     role = iota // not a predicate of shapes in SHACL Core
	annotation              // no effect on validation
	target                  // declares its subject a shape
	parameter               // of a constraint; declares its subject a shape
	option                  // a parameter that is optional, or read otherwise
	shapeValued             // a parameter whose values are shapes
	shapeList               // a parameter whose values are lists of shapes
	pathPart                // of a path, not of a shape
)

// findRole returns the role of a term by its local name.
func findRole(name string) role {
	switch name {
	case "name", "description", "order", "group", "defaultValue":
		return annotation
	case "targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf":
		return target
	case "class", "datatype", "nodeKind", "minCount", "maxCount", "minExclusive", "minInclusive", "maxExclusive",
		"maxInclusive", "minLength", "maxLength", "pattern", "languageIn", "uniqueLang", "equals", "disjoint",
		"lessThan", "lessThanOrEquals", "closed", "hasValue", "in":
		return parameter
	case "not", "node", "property", "qualifiedValueShape":
		return shapeValued
	case "and", "or", "xone":
		return shapeList
	case "path", "severity", "message", "deactivated", "flags", "ignoredProperties", "qualifiedMinCount",
		"qualifiedMaxCount", "qualifiedValueShapesDisjoint":
		return option
	case "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath":
		return pathPart
	}
	return foreign
}

func shTerm(name string) rdf.Term { return rdf.NewIRI(Namespace + name) }
