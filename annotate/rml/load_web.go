package rml

import (
	"fmt"
	"mime"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
	"github.com/iotenablers/enablers/annotate/rml/internal/resultset"
)

const (
	nsService = "http://www.w3.org/ns/sparql-service-description#"
	nsResults = "http://www.w3.org/2005/sparql-results#"
)

// resultFormat is a format of the results of a SPARQL query, with what a logical
// source over it has if the mapping does not say.
type resultFormat struct {
	name, mediaType string
	formulation     Formulation
	iterator        string
}

// resultFormats are the formats of results that the engine reads, by preference.
func resultFormats() []resultFormat {
	return []resultFormat{
		{"SPARQL_Results_CSV", "text/csv", CSV, ""},
		{"SPARQL_Results_TSV", mediaTSV, CSV, ""},
		{"SPARQL_Results_JSON", "application/sparql-results+json", JSONPath, "$.results.bindings[*]"},
		{"SPARQL_Results_XML", "application/sparql-results+xml", XPath, "/sparql:sparql/sparql:results/sparql:result"},
	}
}

// mediaTSV is the media type of results in TSV, which are turned into CSV.
const mediaTSV = "text/tab-separated-values"

// service returns the SPARQL service that a logical source reads, or nil.
func (l *loader) service(r *document.Resource) *document.Resource {
	for _, t := range r.All("source") {
		described := l.About(t)
		if _, ok := described.Value(nsService + "endpoint"); ok || hasType(described, nsService+"Service") {
			return described
		}
	}
	return nil
}

// hasType reports whether a resource has a class.
func hasType(r *document.Resource, class string) bool {
	for _, s := range r.Statements {
		if s.Predicate == rdf.Type && s.Object.Value == class {
			return true
		}
	}
	return false
}

// serviceSource loads a logical source that asks a SPARQL endpoint. In RML-IO the iterator
// is the query and the reference formulation is the format of the results. In the legacy
// vocabulary the query has a property of its own.
func (l *loader) serviceSource(r, service *document.Resource, source *logicalSource) error {
	n := l.part(service, "source", source.node)
	if err := l.known(service, n, "service"); err != nil {
		return err
	}
	endpoints := values(service, nsService+"endpoint")
	if len(endpoints) != 1 {
		return n.errorf("it has %s: expected exactly one", count(len(endpoints), l.Shorten(nsService+"endpoint")))
	}
	source.Kind = SourceEndpoint
	source.Name = endpoints[0].Value
	if err := checkWeb(source.Name); err != nil {
		return n.errorf("its %s: %v", l.Shorten(nsService+"endpoint"), err)
	}
	for _, language := range values(service, nsService+"supportedLanguage") {
		if language.Value == nsService+"SPARQL11Update" && len(values(service, nsService+"supportedLanguage")) == 1 {
			return n.errorf("its only %s is SPARQL11Update: a source is asked in SPARQL10Query or SPARQL11Query",
				l.Shorten(nsService+"supportedLanguage"))
		}
	}
	if err := l.question(r, source); err != nil {
		return err
	}
	format, err := l.resultFormat(r, service, source.node)
	if err != nil {
		return err
	}
	source.asResults(format)
	return nil
}

// asResults completes a source of results of queries.
func (s *logicalSource) asResults(format resultFormat) {
	s.Formulation = format.formulation
	s.Access.MediaType = format.mediaType
	if s.iterator == "" {
		s.iterator = format.iterator
	}
	if format.formulation == XPath {
		s.details.namespaces = append(s.details.namespaces, namespace{"sparql", nsResults})
	}
}

// question loads the query of a source and the iterator over its results.
func (l *loader) question(r *document.Resource, source *logicalSource) error {
	queries, iterators := r.All("query"), r.All("iterator")
	for _, t := range slices.Concat(queries, iterators) {
		if t.Kind != rdf.Literal {
			return source.node.errorf("its query or iterator is %s: expected text in quotes", l.Write(t))
		}
	}
	switch {
	case len(queries) > 1 || len(iterators) > 1:
		return source.node.errorf("it has more than one query or iterator: expected one query, and at most one iterator")
	case len(queries) == 1:
		source.Query = queries[0].Value
		if len(iterators) == 1 {
			source.iterator = iterators[0].Value
		}
	case len(iterators) == 1:
		source.Query = iterators[0].Value
	}
	if strings.TrimSpace(source.Query) == "" {
		return source.node.errorf("it has no query in SPARQL: expected a query, or an iterator that is one")
	}
	return nil
}

// resultFormat decides the format that the results are asked for in.
func (l *loader) resultFormat(r, service *document.Resource, n node) (resultFormat, error) {
	found := r.All("referenceFormulation")
	if len(found) != 1 {
		return resultFormat{}, n.errorf("it has %s: expected exactly one, such as formats:SPARQL_Results_JSON or ql:CSV",
			count(len(found), "referenceFormulation"))
	}
	var offered []string
	for _, t := range values(service, nsService+"resultFormat") {
		offered = append(offered, strings.TrimPrefix(t.Value, nsFormats))
	}
	wanted, anyOf := formulationName(found[0].Value), resultFormats()
	suits := func(f resultFormat) bool {
		return f.name == wanted || string(f.formulation) == wanted || (wanted == "XPathReferenceFormulation" && f.formulation == XPath) ||
			wanted == "SPARQL" || wanted == "SPARQLResults"
	}
	if !slices.ContainsFunc(anyOf, suits) {
		return resultFormat{}, n.errorf("its referenceFormulation is %s: expected formats:SPARQL_Results_CSV, _TSV, _JSON or _XML, or ql:CSV, "+
			"ql:JSONPath, ql:XPath or ql:SPARQL", l.Write(found[0]))
	}
	for _, f := range anyOf {
		if suits(f) && (len(offered) == 0 || f.name == wanted || slices.Contains(offered, f.name)) {
			return f, nil
		}
	}
	return resultFormat{}, n.errorf("its referenceFormulation is %s, but the service has no such %s: expected one that fits the other",
		l.Write(found[0]), l.Shorten(nsService+"resultFormat"))
}

// asksFile reports whether the reference formulation is a format of results of queries.
func (l *loader) asksFile(r *document.Resource) bool {
	found := r.All("referenceFormulation")
	return len(found) == 1 && slices.ContainsFunc(resultFormats(), func(f resultFormat) bool { return found[0].Value == nsFormats+f.name })
}

// fileQuery loads a logical source that asks a file of RDF in SPARQL.
func (l *loader) fileQuery(r *document.Resource, source *logicalSource) error {
	if err := l.question(r, source); err != nil {
		return err
	}
	format, err := l.resultFormat(r, &document.Resource{}, source.node)
	if err != nil {
		return err
	}
	if format.formulation == XPath {
		return source.node.errorf("results in XML cannot be read from a file: expected formats:SPARQL_Results_CSV, _TSV or _JSON")
	}
	source.asResults(format)
	source.Access = Access{}
	if err := l.place(r, source); err != nil {
		return err
	}
	if source.Kind != SourceFile {
		return source.node.errorf("it asks %s in SPARQL: expected a file of RDF, or a sd:Service", source.Source)
	}
	if _, err := resultset.Parse(source.Query); err != nil {
		return source.node.errorf("its query: %v; a sd:Service evaluates the whole language", err)
	}
	if _, err := rdfFormat(source.Name); err != nil {
		return source.node.errorf("%v", err)
	}
	return nil
}

// rdfFormat returns the syntax of a file of RDF by the ending of its name.
func rdfFormat(name string) (rdf.Format, error) {
	if isWeb(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	ending := strings.ToLower(filepath.Ext(name))
	switch ending {
	case ".gz", ".zip", ".xz", ".tgz":
		ending = strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(name, filepath.Ext(name)), ".tar")))
	}
	var endings []string
	for _, f := range rdf.Formats() {
		if syntax := f.Syntax(); syntax.Readable {
			if syntax.Extension == ending {
				return f, nil
			}
			endings = append(endings, syntax.Extension)
		}
	}
	return 0, fmt.Errorf("the file %q is asked in SPARQL: expected a name that ends in one of %s", name, strings.Join(endings, ", "))
}

// formulationName returns the name of a reference formulation without its namespace.
func formulationName(iri string) string {
	if name, ok := strings.CutPrefix(iri, nsFormats); ok {
		return name
	}
	name, _, _ := document.LocalName(iri)
	return name
}

// values returns the objects of a property given by its full IRI.
func values(r *document.Resource, predicate string) []rdf.Term {
	var found []rdf.Term
	for _, s := range r.Statements {
		if s.Predicate == predicate {
			found = append(found, s.Object)
		}
	}
	return found
}

// checkWeb returns what is wrong with the address of a source on the web.
func checkWeb(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil: // it repeats the address
		return fmt.Errorf("it is not a URL: expected http://HOST/PATH or https://HOST/PATH")
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return fmt.Errorf("it is %s: expected http://HOST/PATH or https://HOST/PATH", u.Redacted())
	case u.User != nil:
		return fmt.Errorf("it has a user or a password: give them to the program that runs the mapping, not in the mapping")
	}
	return nil
}

// checkMediaType returns what is wrong with a media type, which is sent in a header.
func checkMediaType(text string) error {
	if _, _, err := mime.ParseMediaType(text); err != nil {
		return fmt.Errorf("it is %q: expected a media type, such as application/json", text)
	}
	return nil
}

// fileOrWeb returns the path of a file IRI, or the address of a file on the web.
func fileOrWeb(t rdf.Term) (string, error) {
	if isWeb(t.Value) {
		return t.Value, checkWeb(t.Value)
	}
	return filePath(t)
}
