package main

import (
	"bufio"
	"cmp"
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
	Date     string        `json:"date"`
	Commit   string        `json:"commit"`
	Command  string        `json:"command"`
	Machine  string        `json:"machine"`
	Versions []string      `json:"versions"`
	Large    []*largeTrial `json:"large,omitempty"`
	Huge     *hugeTrial    `json:"huge,omitempty"`
	Small    []*smallTrial `json:"small,omitempty"`
	Pages    []*pagesTrial `json:"pages,omitempty"`
	Hows     []string      `json:"hows"`
	Problems []string      `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: commit(ctx),
		Command: strings.TrimSpace("go run ./bench/modelrepo " + strings.Join(os.Args[1:], " ")),
		Machine: fmt.Sprintf("%s, %d cores, %s, %s", procField("/proc/cpuinfo", "model name"), runtime.NumCPU(),
			procField("/proc/meminfo", "MemTotal"), printed(ctx, "uname", "-sr")),
		Versions: []string{
			runtime.Version(),
			"distribution " + required(ctx, "bench/modelrepo/registry", "github.com/distribution/distribution/v3"),
			"MinIO " + required(ctx, "test/minio", "github.com/minio/minio"),
		},
	}
}

// required returns the version of a module that a peer is built from.
func required(ctx context.Context, folder, module string) string {
	return printed(ctx, "go", "-C", folder, "list", "-m", "-f", "{{.Version}}", module)
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
		return name + ": " + err.Error()
	}
	return first
}

func commit(ctx context.Context) string {
	id := printed(ctx, "git", "rev-parse", "--short", "HEAD")
	if printed(ctx, "git", "status", "--porcelain", "--", "modelrepo", "storage", "cmd/modelrepo", "bench/modelrepo", "go.mod") != "" {
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
	r.Large, r.Small, r.Pages = append(r.Large, other.Large...), append(r.Small, other.Small...), append(r.Pages, other.Pages...)
	r.Huge = cmp.Or(r.Huge, other.Huge)
	r.Problems = append(r.Problems, other.Problems...)
}

// names are the contenders in the order of their first trials.
func names[T any](trials []T, name func(T) string) []string {
	var all []string
	for _, t := range trials {
		if !slices.Contains(all, name(t)) {
			all = append(all, name(t))
		}
	}
	return all
}
