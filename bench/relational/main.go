// Command relational maps a table of PostgreSQL with cmd/rml and with other engines, and
// records the time, the CPU time and the peak of memory of each. README.md says how to run it.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

//go:embed mapping.ttl
var mapping []byte

// statementsPerRow is how many statements the mapping makes of a row.
const statementsPerRow = 3

// settings are the flags.
type settings struct {
	database, peers, scratch, out string

	rows    int
	timeout time.Duration
	memory  int64 // in bytes
	only    string
}

// record is what one run found.
type record struct {
	Began     string      `json:"began"`
	Commit    string      `json:"commit"`
	Machine   rig.Machine `json:"machine"`
	Server    string      `json:"server"`
	Rows      int         `json:"rows"`
	TimeoutS  float64     `json:"timeoutSeconds"`
	MemoryMB  int64       `json:"memoryMB"`
	Load      float64     `json:"loadAverageBefore"`
	LoadAfter float64     `json:"loadAverageAfter"`
	Results   []result    `json:"results"`
}

// result is what one engine needed.
type result struct {
	Engine     string  `json:"engine"`
	Version    string  `json:"version"`
	How        string  `json:"how"`
	Rows       int     `json:"rows"`
	WallS      float64 `json:"wallSeconds"`
	UserS      float64 `json:"userSeconds"`
	SystemS    float64 `json:"systemSeconds"`
	PeakBytes  int64   `json:"peakBytes"`
	Statements int     `json:"statements"`
	Load       float64 `json:"loadAverageAfter"`
	Agreement  string  `json:"agreement,omitempty"`
	Failure    string  `json:"failure,omitempty"`
}

func main() { rig.Main("relational", run) }

func run(ctx context.Context, args []string) error {
	s := settings{}
	flags := flag.NewFlagSet("relational", flag.ContinueOnError)
	flags.StringVar(&s.database, "database", "", "`URL` of an empty database of PostgreSQL over TCP; required")
	flags.StringVar(&s.peers, "peers", "", "`folder` in which the engines are installed (see README.md); required")
	flags.StringVar(&s.scratch, "scratch", os.TempDir(), "`folder` for the outputs, which are removed")
	flags.StringVar(&s.out, "out", "bench/relational", "`folder` of the report, with the folder results in it")
	flags.IntVar(&s.rows, "rows", 10_000_000, "`rows` of the table")
	flags.DurationVar(&s.timeout, "timeout", 15*time.Minute, "`time` after which an engine is stopped")
	megabytes := flags.Int64("memory", 12<<10, "`MB` of memory at which an engine is stopped, all of its processes together")
	flags.StringVar(&s.only, "only", "", "`names` of the engines that run, with commas (default all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.memory = *megabytes << 20
	if s.database == "" || s.peers == "" {
		return errors.New("-database and -peers are required")
	}
	scratch, err := os.MkdirTemp(s.scratch, "relational")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := bench{settings: s, scratch: scratch}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	r := record{
		Began: time.Now().UTC().Format(time.RFC3339), Commit: rig.Commit(ctx, "annotate", "cmd", "bench/relational"),
		Machine: rig.ThisMachine(ctx), Rows: s.rows, TimeoutS: s.timeout.Seconds(), MemoryMB: *megabytes, Load: rig.LoadAverage(),
	}
	if r.Server, err = b.sql(ctx, "SHOW server_version"); err != nil {
		return err
	}
	if err := b.agree(ctx, &r); err != nil {
		return err
	}
	if err := b.fill(ctx, s.rows); err != nil {
		return err
	}
	for i := range r.Results {
		if r.Results[i].Failure == "" {
			b.measure(ctx, &r.Results[i])
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.LoadAfter = rig.LoadAverage()
		if err := rig.Write(s.out, rig.FileName(r.Began), r, report(r)); err != nil { // what there is so far
			return err
		}
	}
	_, err = b.sql(ctx, "DROP TABLE reading")
	return err
}

// bench is one run.
type bench struct {
	settings
	scratch string
	engines []engine
	sample  map[string]bool // the statements of the small table, by cmd/rml
}

// prepare writes the mappings and builds the subject.
func (b *bench) prepare(ctx context.Context) error {
	if err := os.WriteFile(b.file("mapping.ttl"), mapping, 0o600); err != nil {
		return err
	}
	if _, err := rig.Build(ctx, b.scratch, "rml"); err != nil {
		return err
	}
	at, err := url.Parse(b.database)
	if err != nil {
		return errors.New("-database is not a URL")
	}
	for _, e := range engines(b, at) {
		if b.only == "" || strings.Contains(","+b.only+",", ","+e.name+",") {
			b.engines = append(b.engines, e)
		}
	}
	return nil
}

func (b *bench) file(name string) string { return filepath.Join(b.scratch, name) }

// sql runs a statement with psql and returns what it printed.
func (b *bench) sql(ctx context.Context, statement string) (string, error) {
	out, err := exec.CommandContext(ctx, "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", b.database, "-c", statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, rig.FirstLine(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// fill makes the table with a number of rows, always the same.
func (b *bench) fill(ctx context.Context, rows int) error {
	for _, statement := range []string{
		"DROP TABLE IF EXISTS reading",
		"CREATE TABLE reading (id bigint NOT NULL, station text NOT NULL, at timestamp NOT NULL, celsius double precision NOT NULL)",
		fmt.Sprintf("INSERT INTO reading SELECT i, 'S' || i %% 1000, timestamp '2020-01-01' + i * interval '1 second', "+
			"(i * 7919 %% 5000) / 100.0 + 0.125 FROM generate_series(bigint '1', %d) AS i", rows),
		"ALTER TABLE reading ADD PRIMARY KEY (id)",
		"VACUUM ANALYZE reading",
	} {
		if _, err := b.sql(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
