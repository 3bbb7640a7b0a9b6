// Package yarrrml reads and writes YARRRML, the notation of RML in YAML
// (https://w3id.org/yarrrml/spec/).
//
// [Load] reads a document and returns the mapping. [Read] returns the statements of RML that
// the document stands for, and [ReadRML] those of a mapping in Turtle. [Write] writes statements
// as YARRRML and [WriteRML] as Turtle. Errors are a
// [*rml.MappingError]; in YARRRML they have the line and the column in the YAML text. The statements of a
// document keep their lines, so the errors and findings of later steps, of [rml.Load],
// [rml.Compile] and [rml.Plan.Lint], have lines of the YAML text too.
//
// # What is read
//
// Everything but quoted triples: prefixes, base, sources, targets, authors, external references, mappings
// with sources, subjects, predicates and objects, graphs, conditions and joins, functions in
// their long and short form, languages and datatypes, and the short names of all keys. The
// prefixes of the initial context of RDFa, such as xsd, schema and dcterms, and rml, ql, fnml, fno, grel and
// idlab-fn need no declaration. A prefix that is not declared is taken for the scheme of an IRI.
//
// In addition to the specification a source of the type stream, or with an empty name as in
// ['~jsonpath', '$.list[*]'], is a carml:Stream: the message that is mapped. A source may have a table in
// place of a query, and one that has a query or a table and no access is an rr:logicalTable.
//
// The statements use the legacy vocabulary, as those of other translators do. So a mapping has the
// dialect of CARML where the vocabulary decides it, as in a channel; see [rml.Mapping.Dialect].
//
// # What is written
//
// Everything that is read, from the legacy vocabulary. Some mappings of RML have no counterpart: those in
// the vocabulary of http://w3id.org/rml/, namespaces that a source declares, a CSV dialect with more than a delimiter,
// collections, and a template of an IRI that is one reference and nothing else.
//
// # Escapes
//
// Inside a reference a backslash escapes a parenthesis, a backslash, and an underscore at the
// beginning, which otherwise names an external reference. Outside, \$( stands for $( and \: for a
// colon that ends no prefix. Any other backslash is a backslash.
//
// # Limits
//
// A document has at most 4 MiB unless [rml.LoadOptions] says otherwise, its values are nested at
// most 64 deep, and it has at most 200,000 values, those of aliases counted as often as they are
// used.
package yarrrml
