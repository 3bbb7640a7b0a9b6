package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

const mapUsage = "rml map -mapping FILE [-base IRI] [-format NAME] [-stream message|ndjson] [-strict]"

func runMap(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("rml map", flag.ContinueOnError)
	file := flags.String("mapping", "", "the mapping, a Turtle `file`; required")
	base := flags.String("base", "", "the `IRI` put before relative IRIs that the mapping makes (default http://example.com/base/)")
	format := flags.String("format", "nquads", "the `syntax` of the output: ntriples, nquads, turtle, trig, jsonld, rdfxml or rdfjson")
	stream := flags.String("stream", "message", "what standard input holds for a carml:Stream: one `message`, or ndjson for one a line")
	strict := flags.Bool("strict", false, "make a term that cannot be made an error in the legacy vocabulary too")
	done, err := parse(flags, args, mapUsage, stdout)
	switch {
	case done || err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; usage: %s", flags.Arg(0), mapUsage)
	case *file == "":
		return errors.New("-mapping is required; usage: " + mapUsage)
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
