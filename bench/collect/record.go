package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is everything that is kept of a run.
type record struct {
	Date     string          `json:"date"`
	Commit   string          `json:"commit"`
	Command  string          `json:"command"`
	Machine  string          `json:"machine"`
	Cores    int             `json:"cores"`
	Versions []string        `json:"versions"`
	Rounds   []*roundsTrial  `json:"rounds,omitempty"`
	Streams  []*streamsTrial `json:"streams,omitempty"`
	Hows     []string        `json:"hows"`
	Problems []string        `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, b *bench) *record {
	const versions = `import sys, importlib.metadata as m; print("Python", sys.version.split()[0] + "; " + "; ".join(p + " " + m.version(p) for p in ["flwr", "grpcio", "protobuf", "numpy"]))`
	r := &record{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: commit(ctx),
		Command: strings.TrimSpace("go run ./bench/collect " + strings.Join(os.Args[1:], " ")),
		Cores:   runtime.NumCPU(),
		Machine: fmt.Sprintf("%s, %d cores, %s, %s", procField("/proc/cpuinfo", "model name"), runtime.NumCPU(),
			procField("/proc/meminfo", "MemTotal"), printed(ctx, "uname", "-sr")),
		Versions: []string{runtime.Version(), printed(ctx, b.python, "-c", versions)},
	}
	for _, c := range b.contenders {
		r.Hows = append(r.Hows, c.name+": "+c.how)
	}
	return r
}

// procField returns a value of a file of /proc, empty if there is none.
func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is how many processes wanted to run in the last minute.
func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// printed returns the first line that a command prints, or why there is none.
func printed(ctx context.Context, name string, args ...string) string {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	first, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if err != nil {
		return filepath.Base(name) + ": " + err.Error()
	}
	return first
}

func commit(ctx context.Context) string {
	id := printed(ctx, "git", "rev-parse", "--short", "HEAD")
	if printed(ctx, "git", "status", "--porcelain", "--", "flcollect", "storage", "cmd/flcollector", "bench/collect/*.go", "bench/collect/python", "internal", "go.mod") != "" {
		return id + " with uncommitted changes"
	}
	return id
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	results := filepath.Join(dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	name := strings.NewReplacer(":", "", "T", "-", "Z", "").Replace(r.Date) + ".json"
	if err := os.WriteFile(filepath.Join(results, name), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return r.tell(dir)
}

// tell writes RESULTS.md.
func (r *record) tell(dir string) error {
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(r.markdown()), 0o644)
}

// rewrite writes RESULTS.md beside the folder of some records, the trials of
// all together.
func rewrite(files []string) error {
	if len(files) == 0 {
		return errors.New("report: the file of a record is needed")
	}
	var all record
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("read record %q: %w", file, err)
		}
		if i == 0 {
			all = r
			continue
		}
		if r.Machine != all.Machine || !slices.Equal(r.Versions, all.Versions) {
			return fmt.Errorf("the record %q is of another machine, or of other versions", file)
		}
		all.add(r)
	}
	return all.tell(filepath.Dir(filepath.Dir(files[0])))
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) {
	r.Date += " and " + other.Date
	r.Command += "` and `" + other.Command
	if other.Commit != r.Commit {
		r.Commit += " and " + other.Commit
	}
	r.Rounds, r.Streams = append(r.Rounds, other.Rounds...), append(r.Streams, other.Streams...)
	r.Problems = append(r.Problems, other.Problems...)
}
