package rdf

// Kind is the kind of an RDF term: IRI, blank node or literal.
type Kind uint8

// The kinds of RDF term. The zero Kind is no term at all: as the graph of a
// [Quad] it stands for the default graph.
const (
	None Kind = iota
	IRI
	Blank
	Literal
)

// Well-known IRIs that the readers and writers themselves need.
const (
	XSDString  = "http://www.w3.org/2001/XMLSchema#string"
	XSDInteger = "http://www.w3.org/2001/XMLSchema#integer"
	XSDDecimal = "http://www.w3.org/2001/XMLSchema#decimal"
	XSDDouble  = "http://www.w3.org/2001/XMLSchema#double"
	XSDBoolean = "http://www.w3.org/2001/XMLSchema#boolean"

	LangString = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
	Type       = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
	First      = "http://www.w3.org/1999/02/22-rdf-syntax-ns#first"
	Rest       = "http://www.w3.org/1999/02/22-rdf-syntax-ns#rest"
	Nil        = "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"
)

// Term is one RDF 1.1 term. Terms are comparable: two terms are the same RDF term
// exactly when they are equal with ==, provided they were created by the
// functions of this package (which keep the normal form described at the fields).
type Term struct {
	// Kind is the kind of the term; None for the zero Term.
	Kind Kind
	// Value is the IRI, the label of the blank node without "_:", or the
	// lexical form of the literal.
	Value string
	// Datatype is the datatype IRI of a literal. It is empty for xsd:string
	// and for literals with a language tag.
	Datatype string
	// Lang is the language tag of a literal, as written; empty for none.
	Lang string
}

// Quad is one RDF statement. A zero Graph means the default graph.
type Quad struct {
	Subject, Predicate, Object, Graph Term
}

// NewIRI returns the IRI term with that value. It does not check the value.
func NewIRI(iri string) Term { return Term{Kind: IRI, Value: iri} }

// NewBlank returns the blank node with that label (without "_:").
func NewBlank(label string) Term { return Term{Kind: Blank, Value: label} }

// NewLiteral returns a plain literal, whose datatype is xsd:string.
func NewLiteral(lexical string) Term { return Term{Kind: Literal, Value: lexical} }

// NewTyped returns a literal with a datatype.
func NewTyped(lexical, datatype string) Term {
	if datatype == XSDString {
		datatype = ""
	}
	return Term{Kind: Literal, Value: lexical, Datatype: datatype}
}

// NewLang returns a literal with a language tag.
func NewLang(lexical, tag string) Term {
	return Term{Kind: Literal, Value: lexical, Lang: tag}
}

// IsZero reports whether t is no term at all.
func (t Term) IsZero() bool { return t.Kind == None }
