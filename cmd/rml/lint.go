package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/cli"
)

const (
	lintUsage    = "rml lint [-dialect rml|carml] [-sample FILE] MAPPING"
	explainUsage = "rml explain [-dialect rml|carml] MAPPING"
)

func runLint(ctx context.Context, args []string, stdin io.Reader, stdout, _ io.Writer) error {
	sample := new(string)
	opts := &rml.Options{}
	flags := lintFlags(sample, &opts.Dialect)
	done, err := parse(flags, args, lintUsage, stdout)
	if done || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usage(fmt.Errorf("expected one mapping, got %d; usage: %s", flags.NArg(), lintUsage))
	}
	plan, err := compile(flags.Arg(0), opts)
	if err != nil {
		return err
	}
	findings := plan.Lint()
	if *sample != "" {
		message, err := os.Open(*sample)
		if err != nil {
			return fmt.Errorf("-sample: %w", err)
		}
		defer message.Close()
		if findings, err = plan.LintSample(ctx, rml.LocalFiles(filepath.Dir(flags.Arg(0)), message)); err != nil {
			return err
		}
	}
	for _, f := range findings {
		fmt.Fprintln(stdout, f)
	}
	if len(findings) > 0 {
		return fmt.Errorf("%s: %d findings", flags.Arg(0), len(findings))
	}
	return nil
}

// lintFlags declares the flags of rml lint.
func lintFlags(sample *string, dialect *rml.Dialect) *flag.FlagSet {
	flags := flag.NewFlagSet("rml lint", flag.ContinueOnError)
	flags.StringVar(sample, "sample", "", "a `file` with a sample of the stream; the files that the mapping names are their own sample")
	declareDialect(flags, dialect)
	return flags
}

func runExplain(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	opts := &rml.Options{}
	flags := explainFlags(&opts.Dialect)
	done, err := parse(flags, args, explainUsage, stdout)
	if done || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usage(fmt.Errorf("expected one mapping, got %d; usage: %s", flags.NArg(), explainUsage))
	}
	plan, err := compile(flags.Arg(0), opts)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, plan.Explain())
	return err
}

// explainFlags declares the flags of rml explain.
func explainFlags(dialect *rml.Dialect) *flag.FlagSet {
	flags := flag.NewFlagSet("rml explain", flag.ContinueOnError)
	declareDialect(flags, dialect)
	return flags
}
