package workload

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table is a CSV file as the KGC challenge varies it, and how it is mapped.
type table struct {
	rows, columns int
	duplicates    int // percent of the rows that repeat another row
	empty         int // percent of the cells that are empty: 0, 25 or 50
	triplesMaps   int // over which the columns are spread
}

const axisColumns = 10

func axes(s Sizes) []Case {
	var cases []Case
	add := func(g Group, name string, t table) { cases = append(cases, t.toCase(g, name)) }
	for _, rows := range slices.Compact([]int{1, s.Axis, s.Batch}) {
		add(Records, fmt.Sprintf("records-%d", rows), table{rows: rows, columns: axisColumns, triplesMaps: 1})
	}
	// The middle of the records axis is also where the next three axes begin.
	for _, columns := range []int{1, 20} {
		add(Columns, fmt.Sprintf("columns-%d", columns), table{rows: s.Axis, columns: columns, triplesMaps: 1})
	}
	for _, percent := range []int{25, 50, 100} {
		add(Duplicates, fmt.Sprintf("duplicates-%d", percent),
			table{rows: s.Axis, columns: axisColumns, duplicates: percent, triplesMaps: 1})
	}
	for _, percent := range []int{25, 50} {
		add(Empty, fmt.Sprintf("empty-%d", percent), table{rows: s.Axis, columns: axisColumns, empty: percent,
			triplesMaps: 1})
	}
	for _, maps := range []int{1, 15} {
		add(Mappings, fmt.Sprintf("mappings-%dtm-%dpom", maps, 15/maps), table{rows: s.Axis, columns: 15, triplesMaps: maps})
	}
	return cases
}

// distinctRows is how many rows differ from each other.
func (t table) distinctRows() int { return max(1, t.rows-t.rows*t.duplicates/100) }

// isEmpty reports whether the cell in a column of a row is empty.
func (t table) isEmpty(row, column int) bool { return 100*((row+column)%4) < 4*t.empty }

func (t table) toCase(g Group, name string) Case {
	var mapping strings.Builder
	mapping.WriteString(prefixes)
	each := t.columns / t.triplesMaps
	for m := range t.triplesMaps {
		var maps []predicateMap
		for c := m * each; c < (m+1)*each; c++ {
			maps = append(maps, predicateMap{column: fmt.Sprintf("c%d", c)})
		}
		mapping.WriteString(triplesMap(fmt.Sprintf("Map%d", m), `"data.csv"`, "CSV",
			"http://example.com/table/{id}", "", maps))
	}
	statements := 0
	for row := range t.distinctRows() {
		for column := range t.columns {
			if !t.isEmpty(row, column) {
				statements++
			}
		}
	}
	return Case{Group: g, Name: name, Sources: []Source{{"data.csv", t.write}}, Mapping: mapping.String(),
		Statements: statements}
}

func (t table) write(w io.Writer) error {
	buf := []byte("id")
	for c := range t.columns {
		buf = fmt.Appendf(buf, ",c%d", c)
	}
	buf = append(buf, '\n')
	for i := range t.rows {
		row := i % t.distinctRows()
		buf = fmt.Appendf(buf, "%d", row)
		for c := range t.columns {
			buf = append(buf, ',')
			if !t.isEmpty(row, c) {
				buf = fmt.Appendf(buf, "value_%d_%d", row, c)
			}
		}
		buf = append(buf, '\n')
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	return nil
}

// join is a pair of tables that are joined on a key with a number of values.
type join struct{ children, parents, keys int }

// joins are small enough for an engine that tries every pair of rows.
func joins(rows int) []Case {
	return []Case{
		join{rows / 2, rows / 2, rows / 2}.toCase("joins-1-1"),
		join{rows / 10, rows, rows / 10}.toCase("joins-1-10"),
		join{rows / 10, rows / 10, rows / 100}.toCase("joins-10-10"),
	}
}

func (j join) toCase(name string) Case {
	mapping := prefixes +
		triplesMap("Parent", `"parents.csv"`, "CSV", "http://example.com/parent/{id}", "",
			[]predicateMap{{column: "name"}}) +
		strings.TrimSuffix(triplesMap("Child", `"children.csv"`, "CSV", "http://example.com/child/{id}", "", nil), " .\n") +
		" ;\n  rr:predicateObjectMap [ rr:predicate ex:parent ; rr:objectMap [ rr:parentTriplesMap <#Parent> ; " +
		"rr:joinCondition [ rr:child \"key\" ; rr:parent \"key\" ] ] ] .\n"
	return Case{Group: Joins, Name: name, Mapping: mapping,
		Sources:    []Source{{"parents.csv", j.writer(j.parents)}, {"children.csv", j.writer(j.children)}},
		Statements: j.parents + j.children*(j.parents/j.keys)}
}

func (j join) writer(rows int) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, "id,key,name\n"); err != nil {
			return err
		}
		for i := range rows {
			if _, err := fmt.Fprintf(w, "%d,key_%d,name_%d\n", i, i%j.keys, i); err != nil {
				return err
			}
		}
		return nil
	}
}
