package yarrrml

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// table returns an rr:logicalTable, which names no database.
func (w *writer) table(t rdf.Term) *yaml.Node {
	m := object()
	w.addTable(m, w.about(t, "logical table", "tableName", "sqlQuery", "sqlVersion"))
	return m
}

// addTable adds the table or the query of a source.
func (w *writer) addTable(m *yaml.Node, r *document.Resource) {
	queries := append(r.All("query"), r.All("sqlQuery")...)
	for _, query := range queries {
		add(m, "query", text(query.Value))
	}
	for _, table := range r.All("tableName") {
		if len(queries) == 0 {
			add(m, "table", text(table.Value))
		}
	}
	for _, version := range r.All("sqlVersion") {
		said := len(m.Content)
		for name, iri := range queryFormulations() {
			if version.Value == nsRR+iri {
				add(m, "queryFormulation", text(name))
			}
		}
		if len(m.Content) == said {
			w.fail(r, "logical source", "YARRRML cannot express its sqlVersion %s: expected rr:SQL2008", w.Write(version))
		}
	}
}

// source returns a logical source: [access~formulation, iterator], or an object where that is not enough.
func (w *writer) source(t rdf.Term) *yaml.Node {
	const what = "logical source"
	r := w.about(t, what, "source", "referenceFormulation", "iterator", "query", "tableName", "sqlQuery", "sqlVersion")
	if r.Generation() == document.Modern {
		w.fail(r, what, "it is in the vocabulary %s: YARRRML stands for the legacy vocabulary", nsModern)
	}
	if isTable(w, r) {
		w.inTable = true
		return w.database(r)
	}
	formulation := ""
	for _, f := range r.All("referenceFormulation") {
		w.visited[f] = true
		for name, iri := range formulations() {
			if f.Value == iri {
				formulation = name
			}
		}
		if formulation == "" {
			w.fail(r, what, "YARRRML cannot express its reference formulation %s: expected ql:CSV, ql:JSONPath or ql:XPath", w.Write(f))
		}
	}
	var place file
	for _, source := range r.All("source") {
		place = w.file(source, formulation)
	}
	if place.isSimple() {
		m := flow(text(place.access + "~" + formulation))
		for _, iterator := range r.All("iterator") {
			m.Content = append(m.Content, text(iterator.Value))
		}
		return m
	}
	m := object(member{"access", text(place.access)}, member{"type", text(place.kind)},
		member{"referenceFormulation", text(formulation)})
	for _, iterator := range r.All("iterator") {
		add(m, "iterator", text(iterator.Value))
	}
	if place.delimiter != "" {
		add(m, "delimiter", text(place.delimiter))
	}
	if place.encoding != "" {
		add(m, "encoding", text(place.encoding))
	}
	return m
}

// file is a place that a source is read from.
type file struct{ access, kind, delimiter, encoding string }

// isSimple reports whether the access is all that is to say.
func (f file) isSimple() bool {
	return f.delimiter == "" && f.encoding == "" && (f.kind == "stream") == (f.access == "")
}

// file returns the place of a source.
func (w *writer) file(t rdf.Term, formulation string) file {
	const what = "source"
	if t.Kind == rdf.Literal {
		return file{access: t.Value, kind: "localfile"}
	}
	r := w.about(t, what, "streamName", "url", "path", "root", "encoding", "null", "compression")
	f := file{kind: "localfile"}
	if r.IsA("Stream") {
		f.kind = "stream"
	}
	for _, name := range append(r.All("streamName"), append(r.All("url"), r.All("path")...)...) {
		f.access = name.Value
	}
	for _, property := range []string{nsCSVW + "url", nsVoID + "dataDump", nsDCAT + "downloadURL"} {
		if name, ok := r.Value(property); ok && f.access == "" {
			f.access = fileName(name)
		}
	}
	for _, root := range r.All("root") {
		if name, _, _ := document.LocalName(root.Value); name != "MappingDirectory" {
			w.fail(r, what, "YARRRML cannot express its root %s: expected rml:MappingDirectory", w.Write(root))
		}
	}
	for _, compression := range r.All("compression") {
		if name, _, _ := document.LocalName(compression.Value); name != "none" {
			w.fail(r, what, "YARRRML cannot express its compression %s", w.Write(compression))
		}
	}
	for _, encoding := range r.All("encoding") {
		if name, _, _ := document.LocalName(encoding.Value); name != "UTF-8" {
			f.encoding = strings.ToLower(name)
		}
	}
	nulls := r.All("null")
	switch isCSV := formulation == "csv"; {
	case isCSV && (r.Has("path") || len(nulls) > 0) && (len(nulls) != 1 || nulls[0].Value != ""):
		w.fail(r, what, "YARRRML cannot express which of its values are null: expected rml:null \"\"")
	case !isCSV && len(nulls) > 0:
		w.fail(r, what, "YARRRML cannot express which of its values are null: expected no rml:null")
	}
	w.dialect(r, &f)
	if f.kind == "stream" && (f.delimiter != "" || f.encoding != "") {
		w.fail(r, what, "YARRRML cannot express the delimiter or the encoding of a stream")
	}
	return f
}

// dialect adds the delimiter of a csvw:Table.
func (w *writer) dialect(r *document.Resource, f *file) {
	const what = "source"
	if null, ok := r.Value(nsCSVW + "null"); ok {
		w.fail(r, what, "YARRRML cannot express its csvw:null %s", w.Write(null))
	}
	described, ok := r.Value(nsCSVW + "dialect")
	if !ok {
		return
	}
	w.visited[described] = true
	for _, s := range w.About(described).Statements {
		name, ok := strings.CutPrefix(s.Predicate, nsCSVW)
		value := s.Object.Value
		isDefault := [...]string{name, value}
		switch {
		case !ok:
		case name == "delimiter":
			f.delimiter = value
		case !slices.Contains([][2]string{{"quoteChar", `"`}, {"header", "true"}, {"header", "1"}, {"trim", "false"}, {"trim", "0"},
			{"encoding", "utf-8"}, {"encoding", "UTF-8"}, {"commentPrefix", ""}}, isDefault):
			w.fail(r, what, "YARRRML cannot express its csvw:%s %s", name, w.Write(s.Object))
		}
	}
}

// isTable reports whether a source is a database.
func isTable(w *writer, r *document.Resource) bool {
	if r.Has("tableName") || r.Has("sqlQuery") || r.Has("sqlVersion") {
		return true
	}
	return slices.ContainsFunc(r.All("source"), func(t rdf.Term) bool {
		described := w.About(t)
		_, hasURL := described.Value(nsD2RQ + "jdbcDSN")
		class, _ := described.Value(rdf.Type)
		return hasURL || class.Value == nsD2RQ+"Database"
	})
}

// database returns a table or a query of a database.
func (w *writer) database(r *document.Resource) *yaml.Node {
	const what = "logical source"
	m := object()
	for _, t := range r.All("source") {
		d := w.about(t, "database")
		access, ok := d.Value(nsD2RQ + "jdbcDSN")
		if !ok {
			break
		}
		add(m, "access", text(access.Value))
		scheme, rest, _ := strings.Cut(access.Value, ":")
		if scheme == "jdbc" {
			scheme, _, _ = strings.Cut(rest, ":")
		}
		kind, known := typeOfURL(scheme)
		if !known {
			w.fail(d, "database", "YARRRML has no type for the database of its d2rq:jdbcDSN %q", scheme)
		}
		add(m, "type", text(kind))
		credentials := object()
		for _, part := range []string{"username", "password"} {
			if t, ok := d.Value(nsD2RQ + part); ok {
				add(credentials, part, text(t.Value))
			}
		}
		if len(credentials.Content) > 0 {
			add(m, "credentials", credentials)
		}
	}
	if r.Has("iterator") {
		w.fail(r, what, "YARRRML cannot express the iterator of a database: expected rr:tableName or rml:query")
	}
	w.addTable(m, r)
	if len(m.Content) > 0 && r.Has("source") {
		add(m, "referenceFormulation", text("csv"))
	}
	return m
}

// typeOfURL returns the type of a database by the scheme of its URL.
func typeOfURL(scheme string) (string, bool) {
	if scheme == "postgres" {
		scheme = "postgresql"
	}
	_, known := drivers()[scheme]
	return scheme, known
}
