// Command mapping maps two files with a mapping that looks inside messages,
// joins a table, and calls a function of this program.
package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

//go:embed mapping.ttl devices.json places.csv
var files embed.FS

// celsius is the function that the mapping calls fn:celsius.
func celsius() rml.Function {
	const ns = "http://example.org/functions#"
	return rml.Function{
		IRI:        ns + "celsius",
		Parameters: []rml.Parameter{{IRIs: []string{ns + "fahrenheit"}}},
		Apply: func(c rml.Call) ([]string, error) {
			f, err := strconv.ParseFloat(c.Arg(0), 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number", c.Arg(0))
			}
			return []string{strconv.FormatFloat((f-32)/1.8, 'f', 1, 64)}, nil
		},
	}
}

func run(ctx context.Context, out io.Writer) error {
	src, err := files.ReadFile("mapping.ttl")
	if err != nil {
		return err
	}
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.Turtle, Functions: []rml.Function{celsius()}})
	if err != nil {
		return err
	}
	open := func(s rml.Source) (io.ReadCloser, error) { return files.Open(s.Name) }
	return plan.NewMapper().Run(ctx, out, rml.Files{Open: open})
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
