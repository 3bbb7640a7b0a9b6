package relational

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
)

// column is a column of a table or of a result.
type column struct {
	label   string
	sqlType string
	kind    rml.ValueKind
}

// query asks for the rows of q. A query of the mapping is sent as it is. Of a
// table, and of a join, only the columns that the mapping names are asked for.
func (db *database) query(ctx context.Context, q rml.Query) (*rows, error) {
	if q.Source.Query != "" && q.Parent.Kind == 0 {
		if db.driver.Check != nil {
			if err := db.driver.Check(q.Source.Query); err != nil {
				return nil, err
			}
		}
		return db.run(ctx, statement(q.Source.Query), q.Columns, nil)
	}
	child, err := db.describe(ctx, q.Source)
	if err != nil {
		return nil, err
	}
	var parent []column
	if q.Parent.Kind != 0 {
		if parent, err = db.describe(ctx, q.Parent); err != nil {
			return nil, err
		}
	}
	text, kinds, err := db.project(q.Columns, child, parent)
	if err != nil {
		return nil, err
	}
	text = "SELECT " + text + " FROM " + db.from(q.Source) + " child"
	if q.Parent.Kind == 0 {
		return db.run(ctx, text, nil, kinds)
	}
	var on []string
	for _, c := range q.On {
		left, err := find(child, c.Child)
		if err != nil {
			return nil, err
		}
		right, err := find(parent, c.Parent)
		if err != nil {
			return nil, err
		}
		a, b := "child."+db.driver.Quote(left.label), "parent."+db.driver.Quote(right.label)
		if left.kind != right.kind {
			a, b = "CAST("+a+" AS "+db.driver.Text+")", "CAST("+b+" AS "+db.driver.Text+")"
		}
		on = append(on, a+" = "+b)
	}
	return db.run(ctx, text+", "+db.from(q.Parent)+" parent WHERE "+strings.Join(on, " AND "), nil, kinds)
}

// project lists the columns of a query, and their descriptions.
func (db *database) project(wanted []rml.Column, child, parent []column) (string, []column, error) {
	if len(wanted) == 0 {
		return "1", []column{}, nil
	}
	parts, kinds := make([]string, len(wanted)), make([]column, len(wanted))
	for i, w := range wanted {
		side, from := "child", child
		if w.Parent {
			side, from = "parent", parent
		}
		c, err := find(from, w.Name)
		if err != nil {
			return "", nil, err
		}
		parts[i], kinds[i] = side+"."+db.driver.Quote(c.label), c
	}
	return strings.Join(parts, ", "), kinds, nil
}

// find returns the column that a reference names. The name of a column without
// quotes may differ in case, as identifiers of SQL do.
func find(columns []column, reference string) (column, error) {
	i, err := position(columns, reference)
	if err != nil {
		return column{}, err
	}
	return columns[i], nil
}

func position(columns []column, reference string) (int, error) {
	name, quoted := unquote(reference)
	found := -1
	labels := make([]string, len(columns))
	for i, c := range columns {
		if c.label == name {
			return i, nil
		}
		labels[i] = c.label
		if quoted || !strings.EqualFold(c.label, name) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("column %s: %q and %q differ from it in case alone: put the one that is meant into quotes",
				reference, columns[found].label, c.label)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("column %s: it is not in the result: expected one of %q", reference, labels)
	}
	return found, nil
}

// unquote returns the name in an identifier, and whether it stood in quotes.
func unquote(identifier string) (string, bool) {
	n := len(identifier)
	if n < 2 {
		return identifier, false
	}
	switch first, last := identifier[0], identifier[n-1]; {
	case first == '"' && last == '"', first == '`' && last == '`':
		quote := identifier[:1]
		return strings.ReplaceAll(identifier[1:n-1], quote+quote, quote), true
	case first == '[' && last == ']':
		return identifier[1 : n-1], true
	}
	return identifier, false
}

// identifiers matches the name of a table as SQL writes it, with its schema or
// without.
var identifiers = regexp.MustCompile("^(?:(?:[\\pL_][\\pL\\pN_$]*|\"[^\"]+\"|`[^`]+`|\\[[^\\]]+\\])(?:\\.|$))+$")

// from writes a table or a query as one of the tables of a query.
func (db *database) from(s rml.Source) string {
	switch {
	case s.Query != "":
		return "(" + statement(s.Query) + ")"
	case identifiers.MatchString(s.Name):
		return s.Name
	}
	return db.driver.Quote(s.Name)
}

// statement takes the semicolon off a query.
func statement(query string) string { return strings.TrimRight(query, " \t\r\n;") }

// describe returns the columns of a table or query, without reading it.
func (db *database) describe(ctx context.Context, s rml.Source) ([]column, error) {
	result, err := db.QueryContext(ctx, "SELECT * FROM "+db.from(s)+" described WHERE 1=0")
	if err != nil {
		return nil, err
	}
	defer result.Close()
	columns, err := readColumns(result)
	if err != nil || s.Query != "" || db.driver.Booleans == nil {
		return columns, err
	}
	if err := result.Close(); err != nil {
		return nil, err
	}
	names := strings.Split(s.Name, ".")
	table, _ := unquote(names[len(names)-1])
	booleans, err := db.driver.Booleans(ctx, db.DB, table)
	for i := range columns {
		if slices.Contains(booleans, columns[i].label) {
			columns[i].kind = rml.BooleanValue
		}
	}
	return columns, err
}

// readColumns describes the columns of a result, whose names must differ.
func readColumns(result *sql.Rows) ([]column, error) {
	types, err := result.ColumnTypes()
	if err != nil {
		return nil, err
	}
	columns, seen := make([]column, len(types)), make(map[string]bool)
	for i, t := range types {
		columns[i] = column{label: t.Name(), sqlType: t.DatabaseTypeName(), kind: ValueKind(t.DatabaseTypeName())}
		if seen[t.Name()] {
			return nil, fmt.Errorf("the query has two columns of the name %q: give one of them another name with AS", t.Name())
		}
		seen[t.Name()] = true
	}
	return columns, nil
}
