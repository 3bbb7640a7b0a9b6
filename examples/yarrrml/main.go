// Command yarrrml maps two files with a mapping in YARRRML, and then writes the mapping as RML in Turtle.
package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

//go:embed mapping.yml readings.json rooms.csv
var files embed.FS

func run(ctx context.Context, graph, turtle io.Writer) error {
	src, err := files.ReadFile("mapping.yml")
	if err != nil {
		return err
	}
	document, err := yarrrml.Read(src, nil)
	if err != nil {
		return err
	}
	mapping, err := rml.LoadStatements(document.Statements, document.Prefixes, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NTriples})
	if err != nil {
		return err
	}
	open := func(s rml.Source) (io.ReadCloser, error) { return files.Open(s.Name) }
	if err := plan.NewMapper().Run(ctx, graph, rml.Files{Open: open}); err != nil {
		return err
	}
	_, err = turtle.Write(yarrrml.WriteRML(document))
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
