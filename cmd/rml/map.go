package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/cli"
)

const mapUsage = "rml map -mapping FILE [-dialect rml|carml] [-dir FOLDER] [-base IRI] [-format NAME] [-stream message|ndjson] " +
	"[-strict] [-functions FILE] [-database URL] [-network any|ORIGINS] [-credential ORIGIN=VARIABLE] " +
	"[-shapes FILE]"

// mapSettings are the values of the flags of rml map.
type mapSettings struct {
	file, dir, base, format, stream, database, functions, shapes string

	dialect rml.Dialect
	strict  bool

	network     string
	credentials map[string]string // by origin
}

// declare declares the flags.
func (s *mapSettings) declare() *flag.FlagSet {
	f := flag.NewFlagSet("rml map", flag.ContinueOnError)
	f.StringVar(&s.file, "mapping", "", "the mapping, a `file` in Turtle, or in YARRRML if its name ends in .yml or .yaml; required")
	f.StringVar(&s.dir, "dir", "", "the `folder` that the mapping's sources are relative to (default the folder of the mapping)")
	f.StringVar(&s.base, "base", "", "the `IRI` that precedes relative IRIs of the mapping (default http://example.com/base/)")
	declareDialect(f, &s.dialect)
	f.StringVar(&s.format, "format", "nquads", "the `syntax` of the output: one of "+rdf.FormatNames(nil))
	f.StringVar(&s.stream, "stream", "message", "what standard input holds for a carml:Stream: one `message`, or ndjson for one a line")
	f.BoolVar(&s.strict, "strict", false,
		"treat a term that cannot be generated as an error in the legacy vocabulary too, as a channel does; otherwise its "+
			"statements are left out and a note counts them")
	f.StringVar(&s.database, "database", "",
		"the `URL` of the database of all tables, in place of that in the mapping: postgres://, mysql:// or sqlite:///path")
	declareFunctions(f, &s.functions)
	f.StringVar(&s.shapes, "shapes", "",
		"a `file` of SHACL Core shapes in Turtle that standard output has to conform to; it is then kept in memory")
	f.StringVar(&s.network, "network", "",
		"the `origins` on the web that sources may be read from, with commas, such as https://example.org, or any (default none)")
	f.Func("credential", "the credential for an origin, ORIGIN=VARIABLE: the `variable` of the environment has the token, the API key "+
		"or USER:PASSWORD; may be repeated", s.credential)
	return f
}

func runMap(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var s mapSettings
	flags := s.declare()
	done, err := parse(flags, args, mapUsage, stdout)
	switch {
	case done || err != nil:
		return err
	case flags.NArg() > 0:
		return cli.Usage(fmt.Errorf("unexpected argument %q; usage: %s", flags.Arg(0), mapUsage))
	case s.file == "":
		return cli.Usage(errors.New("-mapping is required; usage: " + mapUsage))
	case s.stream != "message" && s.stream != "ndjson":
		return cli.Usage(fmt.Errorf("-stream %q: expected message or ndjson", s.stream))
	}
	syntax, err := rdf.ParseFormat(s.format)
	if err != nil {
		return cli.Usage(fmt.Errorf("-format: %w", err))
	}
	shapes, err := loadShapes(s.shapes, syntax)
	if err != nil {
		return err
	}
	functions, err := openFunctions(ctx, s.functions)
	if err != nil {
		return err
	}
	defer functions.Close()
	plan, err := compile(s.file, &rml.Options{
		Dialect: s.dialect, Format: syntax, Base: s.base, Strict: s.strict, Functions: functions.Functions(),
	})
	if err != nil {
		return err
	}
	out := &spool{}
	defer out.remove()
	mapper := plan.NewMapper()
	if s.stream == "ndjson" {
		err = mapper.RunLines(ctx, out, stdin)
	} else {
		err = s.run(ctx, mapper, out, stdin)
	}
	if err != nil {
		return err
	}
	if shapes != nil {
		written, err := out.reader()
		if err != nil {
			return err
		}
		if err := shapes.check(written, syntax, stderr); err != nil {
			return err
		}
	}
	if err := out.copyTo(stdout); err != nil {
		return err
	}
	note(stderr, mapper)
	return nil
}

// note says where a run that succeeded gave less than one may expect.
func note(stderr io.Writer, mapper *rml.Mapper) {
	say := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(stderr, "rml: note: "+format+"\n", args...)
		}
	}
	for _, unmatched := range mapper.Unmatched() {
		say(1, "%s", unmatched)
	}
	t := mapper.Tally()
	if t.Statements == 0 {
		say(t.Records, "no statements from %s", count(t.Records, "record"))
	}
	say(t.LeftOut,
		"%s could not be generated; statements with such a term are left out (-strict treats that as an error)",
		count(t.LeftOut, "term"))
	for _, rows := range mapper.IrregularRows() {
		say(rows.Count, "%s", rows)
	}
	say(t.CommentRows, "%s of CSV with the comment character at the beginning, not read", count(t.CommentRows, "line"))
	say(t.IllTyped, "%s with a text that the datatype does not have; the text is given out as it is", count(t.IllTyped, "literal"))
	for _, found := range mapper.IllTyped() {
		say(found.Count, "%s: %d of them, such as %s", found.Node, found.Count, found)
	}
}

// count renders a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
