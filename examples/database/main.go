// Command database creates a SQLite database with two tables and maps it in R2RML. The
// database joins the tables.
package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
)

//go:embed mapping.ttl
var mapping []byte

const tables = `
CREATE TABLE place (number INTEGER PRIMARY KEY, name TEXT, height REAL);
CREATE TABLE sensor (id TEXT, place INTEGER);
INSERT INTO place VALUES (1, 'roof', 21.5), (2, 'cellar', -3);
INSERT INTO sensor VALUES ('t1', 1), ('t2', 2), ('t3', NULL);
`

func fill(file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.Exec(tables)
	return errors.Join(err, db.Close())
}

func run(ctx context.Context, folder string, out io.Writer) (err error) {
	file := filepath.Join(folder, "sensors.db")
	if err := fill(file); err != nil {
		return err
	}
	loaded, err := rml.Load(mapping, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Format: rdf.Turtle})
	if err != nil {
		return err
	}
	databases := relational.New([]relational.Driver{sqlite.Driver()},
		&relational.Options{URL: "sqlite://" + filepath.ToSlash(file)})
	defer func() { err = errors.Join(err, databases.Close()) }()
	return plan.NewMapper().Run(ctx, out, rml.Files{Query: databases.Query})
}

func main() {
	folder, err := os.MkdirTemp("", "database")
	if err == nil {
		err = errors.Join(run(context.Background(), folder, os.Stdout), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
