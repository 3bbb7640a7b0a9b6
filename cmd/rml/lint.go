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
	lintUsage    = "rml lint [-dialect rml|carml] [-functions FILE] [-sample FILE] MAPPING"
	explainUsage = "rml explain [-dialect rml|carml] [-functions FILE] MAPPING"
)

func runLint(ctx context.Context, args []string, stdin io.Reader, stdout, _ io.Writer) error {
	sample, paths := new(string), new(string)
	opts := &rml.Options{}
	flags := lintFlags(sample, paths, &opts.Dialect)
	done, err := parse(flags, args, lintUsage, stdout)
	if done || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usage(fmt.Errorf("expected one mapping, got %d; usage: %s", flags.NArg(), lintUsage))
	}
	functions, err := openFunctions(ctx, *paths)
	if err != nil {
		return err
	}
	defer functions.Close()
	opts.Functions = functions.Functions()
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
		return fmt.Errorf("%s: %s", flags.Arg(0), count(len(findings), "finding"))
	}
	return nil
}

// lintFlags declares the flags of rml lint.
func lintFlags(sample, functions *string, dialect *rml.Dialect) *flag.FlagSet {
	flags := flag.NewFlagSet("rml lint", flag.ContinueOnError)
	flags.StringVar(sample, "sample", "", "a `file` with a sample of the stream; the files that the mapping names are their own sample")
	declareDialect(flags, dialect)
	declareFunctions(flags, functions)
	return flags
}

func runExplain(ctx context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	paths := new(string)
	opts := &rml.Options{}
	flags := explainFlags(paths, &opts.Dialect)
	done, err := parse(flags, args, explainUsage, stdout)
	if done || err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usage(fmt.Errorf("expected one mapping, got %d; usage: %s", flags.NArg(), explainUsage))
	}
	functions, err := openFunctions(ctx, *paths)
	if err != nil {
		return err
	}
	defer functions.Close()
	opts.Functions = functions.Functions()
	plan, err := compile(flags.Arg(0), opts)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, plan.Explain())
	return err
}

// explainFlags declares the flags of rml explain.
func explainFlags(functions *string, dialect *rml.Dialect) *flag.FlagSet {
	flags := flag.NewFlagSet("rml explain", flag.ContinueOnError)
	declareDialect(flags, dialect)
	declareFunctions(flags, functions)
	return flags
}
