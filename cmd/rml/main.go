// Command rml maps local files and standard input to RDF with an RML or CARML
// mapping, and checks, explains and translates mappings.
//
//	rml map -mapping FILE [-dialect rml|carml] [-dir FOLDER] [-base IRI] [-format NAME] [-stream message|ndjson]
//	    [-strict] [-database URL] [-network any|ORIGINS] [-credential ORIGIN=VARIABLE]
//	    [-shapes FILE]
//	rml lint [-dialect rml|carml] [-sample FILE] MAPPING
//	rml explain [-dialect rml|carml] MAPPING
//	rml translate -to yarrrml|rml MAPPING
//	rml version
//	rml completion bash|zsh|fish
//
// Sources are relative to the folder of the mapping, or to that of -dir; a carml:Stream reads
// standard input. A mapping whose name ends in .yml or .yaml is YARRRML.
// Logical targets are relative to the current folder. RDF goes
// to standard output. The exit status is 0, or 1 with one line on standard
// error and nothing on standard output, or 2 for wrong arguments; lint also exits with 1
// when it finds something. A mapping that succeeded has notes on standard error where its
// input gave less than one may expect, such as an iterator that selected
// nothing.
//
// With -shapes an output that violates a shape of SHACL is an error as well: its results
// are on standard error, one a line. Those of severity sh:Warning or sh:Info are there
// too and are no error. The files of logical targets are not checked.
//
// A term that cannot be made, such as an IRI with a space, is an error for the
// current vocabulary. For the legacy one its statements are left out and a note counts
// them, as the test cases of that vocabulary expect; with -strict it is an error, as it
// is in a channel of the annotator. A literal whose text its datatype does not have is
// written as it is in the legacy vocabulary, here as in a channel.
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
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
	"github.com/iotenablers/enablers/cmd/internal/mappingfunctions"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "rml: %v\n", err)
		stop()
		os.Exit(cli.Status(err))
	}
}

// command is one of the words after rml.
type command struct {
	name, about, usage string
	flags              *flag.FlagSet
	run                func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"map", "map files or standard input to RDF", mapUsage, new(mapSettings).declare(), runMap},
		{"lint", "find mistakes in a mapping", lintUsage, lintFlags(new(string), new(string), new(rml.Dialect)), runLint},
		{"explain", "print how a mapping runs", explainUsage, explainFlags(new(string), new(rml.Dialect)), runExplain},
		{"translate", "write a mapping as YARRRML or as RML", translateUsage, translateFlags(new(string)), runTranslate},
	}
}

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	for _, c := range commands() {
		if len(args) > 0 && args[0] == c.name {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	if len(args) > 0 && args[0] == cli.CompletionWord {
		return complete(args[1:], stdout)
	}
	if len(args) > 0 && (args[0] == "version" || args[0] == "-version" || args[0] == "--version") {
		fmt.Fprintf(stdout, "rml %s\n", version.String())
		return nil
	}
	if len(args) > 0 && (args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		for _, c := range commands() {
			fmt.Fprintf(stdout, "%s\n", c.usage)
		}
		return nil
	}
	if len(args) == 0 {
		return cli.Usage(errors.New("expected map, lint, explain, translate, version or help; " + mapUsage))
	}
	return cli.Usage(fmt.Errorf("expected map, lint, explain, translate, version or help, got %q; %s", args[0], mapUsage))
}

// complete prints the completion script of a shell.
func complete(args []string, stdout io.Writer) error {
	p := cli.Program{Name: "rml", Commands: []cli.Command{
		{Name: "version", About: "print the version"}, {Name: "help", About: "print the usage"},
	}}
	for _, c := range commands() {
		p.Commands = append(p.Commands, cli.Command{Name: c.name, About: c.about, Flags: c.flags, TakesFiles: true})
	}
	return p.Complete(stdout, args)
}

// parse parses the flags of a command. Asked for help it prints the flags and
// reports that there is nothing more to do.
func parse(flags *flag.FlagSet, args []string, usage string, stdout io.Writer) (done bool, err error) {
	flags.SetOutput(io.Discard)
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stdout)
		fmt.Fprintf(stdout, "usage: %s\n", usage)
		flags.PrintDefaults()
		return true, nil
	}
	if err != nil {
		return false, cli.Usage(fmt.Errorf("%w; usage: %s", err, usage))
	}
	return false, nil
}

// declareDialect declares the flag -dialect.
func declareDialect(flags *flag.FlagSet, to *rml.Dialect) {
	flags.Func("dialect", "the `dialect`, how the mapping and its input are read: rml as the specifications say, "+
		"carml as CARML 0.3.2 reads them (default rml)",
		func(name string) (err error) {
			*to, err = rml.ParseDialect(name)
			return err
		})
}

// declareFunctions declares the flag -functions.
func declareFunctions(flags *flag.FlagSet, to *string) {
	flags.StringVar(to, "functions", "", mappingfunctions.Usage)
}

// openFunctions loads the modules of the flag -functions.
func openFunctions(ctx context.Context, paths string) (*mappingfunctions.Set, error) {
	set, err := mappingfunctions.Open(ctx, paths)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-functions: %w", err))
	}
	return set, nil
}

// compile loads and compiles the mapping in a file.
func compile(file string, opts *rml.Options) (*rml.Plan, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	load := rml.Load
	if isYARRRML(file) {
		load = yarrrml.Load
	}
	mapping, err := load(src, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	plan, err := rml.Compile(mapping, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return plan, nil
}

// isYARRRML reports whether a file is in YARRRML by its name.
func isYARRRML(file string) bool {
	ending := strings.ToLower(filepath.Ext(file))
	return ending == ".yml" || ending == ".yaml"
}
