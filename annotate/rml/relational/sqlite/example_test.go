package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
)

// A table of a SQLite database becomes N-Triples.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "sensors.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := db.Exec("CREATE TABLE sensor (id TEXT, celsius REAL); INSERT INTO sensor VALUES ('a7', 21.5)"); err != nil {
		fmt.Println(err)
		return
	}
	db.Close()

	mapping, err := rml.Load([]byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> .
		@prefix ex: <http://example.com/> .
		ex:Sensors rr:logicalTable [ rr:tableName "sensor" ] ;
			rr:subjectMap [ rr:template "http://example.com/sensor/{id}" ] ;
			rr:predicateObjectMap [ rr:predicate ex:celsius ; rr:objectMap [ rr:column "celsius" ] ] .`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	databases := relational.New([]relational.Driver{sqlite.Driver()}, &relational.Options{URL: "sqlite://" + file})
	defer databases.Close()
	if err := plan.NewMapper().Run(context.Background(), os.Stdout, rml.Files{Query: databases.Query}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <http://example.com/sensor/a7> <http://example.com/celsius> "2.15E1"^^<http://www.w3.org/2001/XMLSchema#double> .
}
