package rml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// nsD2RQ is the namespace of the vocabulary that describes databases.
const nsD2RQ = "http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#"

// isTable reports whether a logical source reads a database.
func (l *loader) isTable(r *document.Resource) bool {
	if r.Has("tableName") || r.Has("sqlQuery") || r.Has("sqlVersion") {
		return true
	}
	for _, t := range r.All("referenceFormulation") {
		if name, _, ok := document.LocalName(t.Value); ok && strings.HasPrefix(name, "SQL2008") {
			return true
		}
	}
	for _, t := range r.All("source") {
		if isDatabase(l.About(t)) {
			return true
		}
	}
	return false
}

// isDatabase reports whether a resource is a d2rq:Database.
func isDatabase(r *document.Resource) bool {
	_, hasURL := r.Value(nsD2RQ + "jdbcDSN")
	return hasURL || hasType(r, nsD2RQ+"Database")
}

// logicalTable loads an rr:logicalTable, which names no database.
func (l *loader) logicalTable(t rdf.Term, parent node) (logicalSource, error) {
	r := l.About(t)
	source := logicalSource{
		node: l.part(r, "logical table", parent), vocab: r.Generation(), details: &sourceDetails{},
	}
	if err := l.known(r, source.node, "logical table"); err != nil {
		return source, err
	}
	return source, l.tableOrQuery(r, &source)
}

// tableSource loads a logical source that reads a database.
func (l *loader) tableSource(r *document.Resource, source *logicalSource) error {
	switch sources := r.All("source"); {
	case len(sources) > 1:
		return source.node.errorf("it has %d sources: expected at most one", len(sources))
	case len(sources) == 1:
		described := l.About(sources[0])
		if !isDatabase(described) {
			return source.node.errorf("its source %s is not a database: expected a d2rq:Database with a d2rq:jdbcDSN",
				l.Write(sources[0]))
		}
		for property, to := range map[string]*string{
			"jdbcDSN":  &source.Database.URL,
			"username": &source.Database.Username,
			"password": (*string)(&source.Database.Password),
		} {
			if t, ok := described.Value(nsD2RQ + property); ok {
				*to = t.Value
			}
		}
	}
	return l.tableOrQuery(r, source)
}

// tableOrQuery loads the one table or query of a source. In RML-IO either is
// the iterator, as the reference formulation says.
func (l *loader) tableOrQuery(r *document.Resource, source *logicalSource) error {
	source.Kind = SourceDatabase
	source.Formulation = SQL
	n := source.node
	var found []string
	for _, s := range r.Statements {
		switch s.Name {
		case "tableName":
			source.Name = s.Object.Value
		case "sqlQuery", "query":
			source.Query = s.Object.Value
		case "iterator":
			if l.iteratesTable(r) {
				source.Name = s.Object.Value
			} else {
				source.Query = s.Object.Value
			}
		default:
			continue
		}
		if s.Object.Kind != rdf.Literal || strings.TrimSpace(s.Object.Value) == "" {
			return n.errorf("its %s is %s: expected text in quotes", s.Name, l.Write(s.Object))
		}
		found = append(found, s.Name)
	}
	switch {
	case len(found) == 0:
		return n.errorf("it names no table: expected a tableName, or a query in SQL")
	case len(found) == 1:
		return nil
	case len(found) == 2 && r.Has("query") && r.Has("tableName"): // the test cases of RML have both
		source.Name = ""
		return nil
	}
	return n.errorf("it has %s: expected one table or query", strings.Join(found, " and "))
}

func (l *loader) iteratesTable(r *document.Resource) bool {
	for _, t := range r.All("referenceFormulation") {
		if name, _, ok := document.LocalName(t.Value); ok && name == "SQL2008Table" {
			return true
		}
	}
	return false
}
