package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
	"github.com/iotenablers/enablers/internal/cli"
)

const translateUsage = "rml translate -to yarrrml|rml MAPPING"

func runTranslate(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	to := new(string)
	flags := translateFlags(to)
	done, err := parse(flags, args, translateUsage, stdout)
	switch {
	case done || err != nil:
		return err
	case flags.NArg() != 1:
		return cli.Usage(fmt.Errorf("expected one mapping, got %d; usage: %s", flags.NArg(), translateUsage))
	case *to == "":
		return cli.Usage(errors.New("-to is required; usage: " + translateUsage))
	case *to != "yarrrml" && *to != "rml":
		return cli.Usage(fmt.Errorf("-to %q: expected yarrrml or rml", *to))
	}
	file := flags.Arg(0)
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	read := yarrrml.ReadRML
	if isYARRRML(file) {
		read = yarrrml.Read
	}
	document, err := read(src, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if *to == "rml" {
		_, err := stdout.Write(yarrrml.WriteRML(document))
		return err
	}
	text, leftOut, err := yarrrml.Write(document)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	for _, finding := range leftOut {
		fmt.Fprintf(stderr, "rml: note: %s\n", finding)
	}
	return nil
}

// translateFlags declares the flags of rml translate.
func translateFlags(to *string) *flag.FlagSet {
	flags := flag.NewFlagSet("rml translate", flag.ContinueOnError)
	flags.StringVar(to, "to", "", "the `notation` to write: yarrrml, or rml for RML in Turtle; required")
	return flags
}
