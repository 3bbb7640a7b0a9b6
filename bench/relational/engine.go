package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/bench/internal/rig"
)

// engine is one that is measured.
type engine struct {
	name, version, how string

	// command returns the command line that maps the table into the file output.
	command func(output string) ([]string, error)
	// printed reports whether it prints the statements, in place of a file.
	printed bool
}

// engines returns the subject and its peers. Each gets the same R2RML mapping.
func engines(b *bench, at *url.URL) []engine {
	user := at.User.Username()
	password, _ := at.User.Password()
	jdbc := fmt.Sprintf("jdbc:postgresql://%s%s", at.Host, at.Path)
	m := b.file("mapping.ttl")
	peer := func(names ...string) string { return filepath.Join(append([]string{b.peers}, names...)...) }
	return []engine{
		{name: "rml", version: "this commit", how: "rml map", printed: true, command: func(string) ([]string, error) {
			return []string{b.file("rml"), "map", "-mapping", m, "-database", b.database, "-format", "ntriples"}, nil
		}},
		{name: "Morph-KGC", version: "2.10.0 (PyPI)", how: "its command line, N-Triples, a process a core, the default partitioning",
			command: func(output string) ([]string, error) {
				config := fmt.Sprintf("[CONFIGURATION]\noutput_format: N-TRIPLES\noutput_file: %s\n[Readings]\nmappings: %s\ndb_url: %s\n",
					output, m, "postgresql+psycopg2"+strings.TrimPrefix(b.database, at.Scheme))
				return []string{peer("morphkgc", "venv", "bin", "python"), "-m", "morph_kgc", b.file("config.ini")},
					os.WriteFile(b.file("config.ini"), []byte(config), 0o600)
			}},
		{name: "RMLMapper", version: "6.1.3 (Maven Central)", how: "its command line, N-Quads, without duplicate elimination; a heap of 10 GB",
			command: func(output string) ([]string, error) {
				return []string{"java", "-Xmx10g", "-cp", peer("rmlmapper", "lib", "*"), "be.ugent.rml.cli.Main", "-m", m, "-o", output, "-s", "nquads",
					"-f", "fno/functions_idlab_classes_java_mapping.ttl", "-dsn", jdbc, "-u", user, "-p", password}, nil
			}},
		{name: "Ontop", version: "5.1.2 (Maven Central)", how: "its materializer, as ontop materialize calls it; a heap of 10 GB",
			command: func(output string) ([]string, error) {
				path := peer("ontop") + ":" + peer("ontop", "lib", "*")
				return []string{"java", "-Xmx10g", "-cp", path, "Ontop", m, jdbc, user, password, output}, nil
			}},
	}
}

// start runs an engine and fills in what it needed. The output is in the file that it returns.
func (b *bench) start(ctx context.Context, e engine, r *result) string {
	output := b.file("output.nt")
	_ = os.Remove(output)
	command, err := e.command(output)
	if err != nil {
		r.Failure = err.Error()
		return output
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = b.scratch
	var complaint tail
	c.Stderr, c.Stdout = &complaint, &complaint
	if e.printed {
		file, err := os.Create(output)
		if err != nil {
			r.Failure = err.Error()
			return output
		}
		defer file.Close()
		c.Stdout = file
	}
	killWithChildren(c)
	began := time.Now()
	if err = c.Start(); err != nil {
		r.Failure = err.Error()
		return output
	}
	watch := watchGroup(c.Process.Pid, b.memory, cancel)
	err = c.Wait()
	r.WallS = time.Since(began).Seconds()
	seen := watch()
	r.PeakBytes = seen.peak
	r.UserS = max(seen.user, c.ProcessState.UserTime().Seconds()) // the second lacks children that were not waited for
	r.SystemS = max(seen.system, c.ProcessState.SystemTime().Seconds())
	switch {
	case seen.peak > b.memory:
		r.Failure = fmt.Sprintf("stopped at %d MB", b.memory>>20)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.Failure = fmt.Sprintf("stopped after %v", b.timeout)
	case err != nil:
		r.Failure = fmt.Sprintf("%v: %s", err, complaint.explanation())
	}
	return output
}

// agree maps a small table with every engine and compares the statements.
func (b *bench) agree(ctx context.Context, r *record) error {
	const rows = 1000
	if err := b.fill(ctx, rows); err != nil {
		return err
	}
	for _, e := range b.engines {
		made := result{Engine: e.name, Version: e.version, How: e.how, Rows: b.rows}
		var trial result
		output := b.start(ctx, e, &trial)
		made.Failure = trial.Failure
		if made.Failure == "" {
			statements, err := readAll(output)
			switch {
			case err != nil:
				made.Failure = err.Error()
			case b.sample == nil:
				b.sample, made.Agreement = statements, fmt.Sprintf("%d statements of %d rows", len(statements), rows)
			default:
				made.Agreement = compare(b.sample, statements)
			}
		}
		fmt.Fprintf(os.Stderr, "%-10s %6.1f s  %s %s\n", e.name, trial.WallS, made.Agreement, made.Failure)
		r.Results = append(r.Results, made)
	}
	return ctx.Err()
}

// measure maps the whole table with one engine.
func (b *bench) measure(ctx context.Context, r *result) {
	for _, e := range b.engines {
		if e.name != r.Engine {
			continue
		}
		output := b.start(ctx, e, r)
		if r.Failure == "" {
			var err error
			if r.Statements, err = lines(output); err != nil {
				r.Failure = err.Error()
			}
			if want := b.rows * statementsPerRow; r.Statements != want && r.Failure == "" {
				r.Failure = fmt.Sprintf("%d statements, expected %d", r.Statements, want)
			}
		}
		_ = os.Remove(output)
		r.Load = rig.LoadAverage()
		fmt.Fprintf(os.Stderr, "%-10s %8.1f s, CPU %.1f + %.1f s, %d MB, load %.1f %s\n", e.name, r.WallS, r.UserS, r.SystemS,
			r.PeakBytes>>20, r.Load, r.Failure)
	}
}

// readAll reads a file of N-Quads.
func readAll(file string) (map[string]bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reader, err := rdf.NewReader(f, rdf.NQuads, nil)
	if err != nil {
		return nil, err
	}
	statements := make(map[string]bool)
	for {
		q, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return statements, nil
		}
		if err != nil {
			return nil, err
		}
		line := rdf.AppendTerm(nil, q.Subject)
		line = rdf.AppendTerm(append(line, ' '), q.Predicate)
		statements[string(rdf.AppendTerm(append(line, ' '), q.Object))] = true
	}
}

// compare says how many statements are in both sets, with one that is not.
func compare(ours, theirs map[string]bool) string {
	same, other := 0, ""
	for s := range theirs {
		if ours[s] {
			same++
		} else if other == "" || s < other {
			other = s
		}
	}
	if same == len(ours) && same == len(theirs) {
		return "the same statements"
	}
	return fmt.Sprintf("%d statements of %d are the same; %d are others, such as %s", same, len(ours), len(theirs)-same, other)
}

// lines counts the lines of a file.
func lines(file string) (int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, buffer, r := 0, make([]byte, 1<<20), bufio.NewReader(f)
	for {
		size, err := r.Read(buffer)
		n += bytes.Count(buffer[:size], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// tail keeps the end of what a program prints.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - 16<<10; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

// explanation returns the last line that names an error, or else the last.
func (t *tail) explanation() string {
	last := ""
	for line := range strings.Lines(string(t.text)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "Error") || strings.Contains(line, "Exception") || last == "" {
			last = line
		}
	}
	return last[:min(len(last), 300)]
}
