// Command rml maps local files and standard input to RDF with an RML or CARML
// mapping.
//
//	rml map -mapping FILE [-base IRI] [-format nquads|ntriples|turtle|trig|jsonld] [-stream message|ndjson] [-strict]
//
// Sources are relative to the folder of the mapping; a carml:Stream reads
// standard input. RDF goes to standard output. The exit status is 0, or 1 with
// one line on standard error and nothing on standard output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "rml: %v\n", err)
		}
		stop()
		os.Exit(1)
	}
}

const usage = "usage: rml map -mapping FILE [-base IRI] [-format NAME] [-stream message|ndjson] [-strict]"

// run is the whole program, for main and for tests.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 || args[0] != "map" {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("rml map", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("mapping", "", "the mapping, a Turtle `file`; required")
	base := flags.String("base", "", "the `IRI` put before relative IRIs that the mapping makes (default http://example.com/base/)")
	format := flags.String("format", "nquads", "the `syntax` of the output: ntriples, nquads, turtle, trig or jsonld")
	stream := flags.String("stream", "message", "what standard input holds for a carml:Stream: one `message`, or ndjson for one a line")
	strict := flags.Bool("strict", false, "make a term that cannot be made an error in the legacy vocabulary too")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; %s", flags.Arg(0), usage)
	case *file == "":
		return errors.New("-mapping is required; " + usage)
	case *stream != "message" && *stream != "ndjson":
		return fmt.Errorf("-stream %q: expected message or ndjson", *stream)
	}
	syntax, err := rdf.ParseFormat(*format)
	if err != nil {
		return fmt.Errorf("-format: %w", err)
	}
	plan, err := compile(*file, &rml.Options{Format: syntax, Base: *base, Strict: *strict})
	if err != nil {
		return err
	}
	out := &spool{}
	defer out.remove()
	if *stream == "ndjson" {
		err = plan.NewMapper().RunLines(ctx, out, stdin)
	} else {
		err = plan.NewMapper().Run(ctx, out, rml.LocalFiles(filepath.Dir(*file), stdin))
	}
	if err != nil {
		return err
	}
	return out.copyTo(stdout)
}

func compile(file string, opts *rml.Options) (*rml.Plan, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	plan, err := rml.Compile(mapping, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return plan, nil
}
