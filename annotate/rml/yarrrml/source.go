package yarrrml

import (
	"path"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// formulations are the reference formulations by the name that the language has for them.
func formulations() map[string]string {
	return map[string]string{
		"jsonpath": nsQL + "JSONPath", "xpath": nsQL + "XPath", "csv": nsQL + "CSV", "xquery": nsQL + "XQuery",
		"rdb": nsQL + "RDB", "sparql": nsQL + "SPARQL",
	}
}

// queryFormulations are those of databases, by the identifiers of R2RML (section 5.2, with the W3C's list of
// identifiers of SQL versions). SQL:2011 and SQL:2016 have none.
func queryFormulations() map[string]string {
	return map[string]string{
		"sql2008": "SQL2008", "mysql": "MySQL", "oracle": "Oracle", "postgresql": "PostgreSQL", "mssqlserver": "MSSQLServer",
		"hsqldb": "HSQLDB", "db2": "DB2", "informix": "Informix", "ingres": "Ingres", "sapase": "SybaseASE",
		"sapsqlanywhere": "SybaseSQLAnywhere", "firebird": "Firebird", "virtuoso": "Virtuoso",
	}
}

// drivers are the JDBC drivers and the beginnings of the URLs of databases.
func drivers() map[string][2]string {
	return map[string][2]string{
		"mysql":       {"com.mysql.cj.jdbc.Driver", "mysql"},
		"mariadb":     {"org.mariadb.jdbc.Driver", "mariadb"},
		"postgresql":  {"org.postgresql.Driver", "postgresql"},
		"mssqlserver": {"com.microsoft.sqlserver.jdbc.SQLServerDriver", "sqlserver"},
		"sqlserver":   {"com.microsoft.sqlserver.jdbc.SQLServerDriver", "sqlserver"},
		"oracle":      {"oracle.jdbc.OracleDriver", "oracle"},
		"db2":         {"com.ibm.db2.jcc.DB2Driver", "db2"},
		"sqlite":      {"org.sqlite.JDBC", "sqlite"},
	}
}

// dsn returns the URL of a database: the access itself if it is one of JDBC, otherwise the host and the path of the access.
func dsn(kind, access string) string {
	if strings.HasPrefix(access, "jdbc:") {
		return access
	}
	scheme := drivers()[kind][1]
	if kind == "sqlite" {
		return "jdbc:sqlite:" + strings.TrimPrefix(access, "sqlite:")
	}
	if _, rest, ok := strings.Cut(access, "://"); ok {
		access = rest
	}
	return "jdbc:" + scheme + "://" + strings.TrimPrefix(access, "//")
}

// hasFormulation reports whether an inline source names how it is read: data.json~jsonpath.
func hasFormulation(access string) bool { return strings.LastIndexByte(access, '~') >= 0 }

func sourceKeys() []key {
	return []key{{"access"}, {"type"}, {"credentials"}, {"encoding"}, {"delimiter"}, {"referenceFormulation"}, {"iterator"},
		{"queryFormulation"}, {"query"}, {"table"}}
}

// source states a source and returns its node: the same one for a name that is used again.
func (r *reader) source(v value) rdf.Term {
	if v.isScalar() && !v.isNull() {
		name := r.text(v)
		if known, ok := r.sources[name]; ok {
			if t, said := r.shared[name]; said {
				return t
			}
			t := r.fullSource(known)
			r.state(known, t, nsRDFS+"label", rdf.NewLiteral(name))
			r.shared[name] = t
			return t
		}
		if !hasFormulation(name) {
			r.fail(v, "the source %q is not in the document: expected the name of a source, or an access such as "+
				"data.json~jsonpath", name)
			return rdf.Term{}
		}
		return r.logicalSource(v, map[string]value{"access": v}, true)
	}
	return r.fullSource(v)
}

// fullSource states a source that is written in full, as an object or as a list.
func (r *reader) fullSource(v value) rdf.Term {
	if v.isMap() {
		return r.logicalSource(v, r.members(v, sourceKeys()), false)
	}
	items := r.oneOrMore(v)
	if len(items) == 0 || len(items) > 2 {
		r.fail(v, "it has %d parts: expected [access~formulation] or [access~formulation, iterator]", len(items))
		return rdf.Term{}
	}
	m := map[string]value{"access": items[0]}
	if len(items) == 2 {
		m["iterator"] = items[1]
	}
	return r.logicalSource(v, m, true)
}

// logicalSource states a logical source. Inline ones have the formulation after the access.
func (r *reader) logicalSource(v value, m map[string]value, inline bool) rdf.Term {
	isQuery := !m["query"].isNull() || !m["table"].isNull()
	switch {
	case !m["access"].isZero():
	case isQuery && m["type"].isNull() && m["credentials"].isNull():
		return r.logicalTable(v, m)
	default:
		r.fail(v, "it has no access: expected a file, a URL or a name")
		return rdf.Term{}
	}
	access := ""
	formulation := ""
	kind := "localfile"
	if !m["access"].isNull() {
		access = r.text(m["access"])
	}
	if inline {
		i := strings.LastIndexByte(access, '~')
		if i < 0 {
			r.fail(m["access"], "the access %q has no formulation: expected one such as data.json~jsonpath", access)
			return rdf.Term{}
		}
		access, formulation = access[:i], strings.ToLower(access[i+1:])
	} else if f := m["referenceFormulation"]; !f.isNull() {
		formulation = strings.ToLower(r.text(f))
	}
	if t := m["type"]; !t.isNull() {
		kind = strings.ToLower(r.text(t))
	} else if access == "" {
		kind = "stream"
	}
	t := r.node()
	r.state(v, t, rdf.Type, rdf.NewIRI(nsRML+"LogicalSource"))
	r.access(v, t, m, kind, access, formulation)
	r.stateText(m["iterator"], t, nsRML+"iterator")
	switch iri, known := formulations()[formulation]; {
	case known:
		r.state(v, t, nsRML+"referenceFormulation", rdf.NewIRI(iri))
	case formulation == "" && isDatabase(kind):
		r.state(v, t, nsRML+"referenceFormulation", rdf.NewIRI(nsQL+"CSV"))
	default:
		r.fail(at(m["referenceFormulation"], v), "the reference formulation %q is not known: expected csv, jsonpath or xpath",
			formulation)
	}
	if isDatabase(kind) && !isQuery {
		r.fail(v, "it names no rows of the database: expected the key query, with a query in SQL, or the key table")
	}
	r.query(t, m, kind)
	return t
}

func isDatabase(kind string) bool {
	_, ok := drivers()[kind]
	return ok
}

// logicalTable states a table or a query of a database that the mapping does not name (R2RML, section 5).
func (r *reader) logicalTable(v value, m map[string]value) rdf.Term {
	t := r.node()
	r.state(v, t, rdf.Type, rdf.NewIRI(nsRR+"LogicalTable"))
	for _, name := range []string{"iterator", "delimiter", "encoding"} {
		if other := m[name]; !other.isNull() {
			r.fail(other, "a table or a query has no %s: expected it for a file", name)
		}
	}
	r.query(t, m, "")
	r.tables[t] = true
	return t
}

// access states the location of a source.
func (r *reader) access(v value, t rdf.Term, m map[string]value, kind, access, formulation string) {
	switch {
	case isDatabase(kind):
		d := r.describe(v, t, nsD2RQ+"Database")
		r.state(v, d, nsD2RQ+"jdbcDSN", rdf.NewLiteral(dsn(kind, access)))
		r.state(v, d, nsD2RQ+"jdbcDriver", rdf.NewLiteral(drivers()[kind][0]))
		if c := m["credentials"]; !c.isNull() {
			login := r.members(c, []key{{"username"}, {"password"}})
			r.stateText(login["username"], d, nsD2RQ+"username")
			r.stateText(login["password"], d, nsD2RQ+"password")
		}
	case !m["credentials"].isNull():
		r.fail(m["credentials"], "a source of the type %s takes no credentials: expected them for a database", kind)
	case kind == "stream":
		d := r.describe(v, t, nsCARML+"Stream")
		if access != "" {
			r.state(v, d, nsCARML+"streamName", rdf.NewLiteral(access))
		}
	case kind == "sparql":
		d := r.describe(v, t, nsSD+"Service")
		r.state(v, d, nsSD+"endpoint", r.iri(v, access))
		r.state(v, d, nsSD+"supportedLanguage", rdf.NewIRI(nsSD+"SPARQL11Query"))
		results := map[string]string{"json": "SPARQL_Results_JSON", "xml": "SPARQL_Results_XML", "csv": "SPARQL_Results_CSV"}
		for name, format := range results {
			if strings.HasPrefix(formulation, name) || (formulation == "xpath" && name == "xml") {
				r.state(v, d, nsSD+"resultFormat", rdf.NewIRI(nsFormats+format))
			}
		}
	case kind == "localfile" || kind == "remotefile":
		r.file(v, t, m, access, formulation)
	default:
		r.fail(at(m["type"], v), "the type %q is not known: expected localfile, remotefile, stream, sparql or a database: "+
			"mysql, mariadb, postgresql, mssqlserver, oracle, db2 or sqlite", kind)
	}
	for _, name := range []string{"delimiter", "encoding"} {
		if other := m[name]; !other.isNull() && !strings.HasSuffix(kind, "file") {
			r.fail(other, "a source of the type %s has no %s: expected it for a file", kind, name)
		}
	}
}

func (r *reader) describe(v value, t rdf.Term, class string) rdf.Term {
	d := r.node()
	r.state(v, t, nsRML+"source", d)
	r.state(v, d, rdf.Type, rdf.NewIRI(class))
	return d
}

// file states a file: its name alone, or with how it is read.
func (r *reader) file(v value, t rdf.Term, m map[string]value, access, formulation string) {
	delimiter, encoding := m["delimiter"], m["encoding"]
	name := ""
	if !encoding.isNull() {
		name = strings.ToUpper(r.text(encoding))
	}
	switch {
	case name != "" && name != "UTF-8" && !delimiter.isNull():
		r.fail(encoding, "a file with a delimiter is read as UTF-8: expected no other encoding")
	case name != "" && !slices.Contains([]string{"UTF-8", "UTF-16"}, name):
		r.fail(encoding, "the encoding %s is not known: expected UTF-8 or UTF-16", name)
	case name == "UTF-16":
		d := r.describe(encoding, t, nsModern+"RelativePathSource")
		r.state(v, d, nsModern+"root", rdf.NewIRI(nsModern+"MappingDirectory"))
		r.state(v, d, nsModern+"path", rdf.NewLiteral(path.Clean(access)))
		r.state(encoding, d, nsModern+"encoding", rdf.NewIRI(nsModern+"UTF-16"))
		if formulation == "csv" {
			r.state(v, d, nsModern+"null", rdf.NewLiteral(""))
		}
	case !delimiter.isNull():
		d, dialect := r.describe(delimiter, t, nsCSVW+"Table"), r.node()
		r.state(v, d, nsCSVW+"url", rdf.NewLiteral(access))
		r.state(delimiter, d, nsCSVW+"dialect", dialect)
		r.state(delimiter, dialect, rdf.Type, rdf.NewIRI(nsCSVW+"Dialect"))
		r.state(delimiter, dialect, nsCSVW+"delimiter", rdf.NewLiteral(r.text(delimiter)))
	default:
		r.state(v, t, nsRML+"source", rdf.NewLiteral(access))
	}
}

// query states the query of a source and the language that it is in. A logical table has other terms for them than a
// logical source; kind is then empty.
func (r *reader) query(t rdf.Term, m map[string]value, kind string) {
	property := nsRML + "query"
	if kind == "" {
		property = nsRR + "sqlQuery"
	}
	if q := m["query"]; !q.isNull() {
		r.state(q, t, property, rdf.NewLiteral(r.text(q)))
		if kind != "" && kind != "sparql" && !isDatabase(kind) {
			r.fail(q, "a source of the type %s has no query: expected it for a database or a SPARQL endpoint", kind)
		}
	}
	if table := m["table"]; !table.isNull() {
		if (kind != "" && !isDatabase(kind)) || !m["query"].isNull() {
			r.fail(table, "it has a table beside a query, or without a database: expected one of table and query")
		}
		r.state(table, t, nsRR+"tableName", rdf.NewLiteral(r.text(table)))
	}
	f := m["queryFormulation"]
	if f.isNull() {
		return
	}
	name := strings.ToLower(r.text(f))
	iri, isSQL := queryFormulations()[name]
	switch isPlain := kind == "" || isDatabase(kind); {
	case isSQL && isPlain:
		r.state(f, t, nsRR+"sqlVersion", rdf.NewIRI(nsRR+iri))
	case name == "sparql11" && kind == "sparql": // said by the service
	case isSQL || name == "sparql11":
		r.fail(f, "the query formulation %s does not belong to this source: expected sparql11 for the type sparql, and SQL for "+
			"a database", name)
	case name == "sql2011" || name == "sql2016":
		r.fail(f, "the query formulation %s has no identifier in R2RML: expected sql2008 or none; the database gets the query "+
			"as it is", name)
	default:
		r.fail(f, "the query formulation %q is not known: expected sql2008, sparql11 or the type of a database", f.raw())
	}
}
