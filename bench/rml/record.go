package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// What became of a workload on an engine.
const (
	statusOK         = "ok"
	statusWrong      = "wrong"
	statusTimeout    = "timeout"
	statusFailed     = "failed"
	statusMissing    = "not installed"
	statusNotOffered = "not offered"
)

// result is a workload on an engine.
type result struct {
	Group    string    `json:"group"`
	Case     string    `json:"case"`
	Engine   string    `json:"engine"`
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Wall     []float64 `json:"wall_seconds,omitempty"`        // of the process, a round each
	Rate     []float64 `json:"messages_per_second,omitempty"` // a round each
	RSS      int64     `json:"peak_rss_bytes,omitempty"`
	Expected int       `json:"expected_statements"`
	Distinct int       `json:"distinct_statements,omitempty"`
	Written  int       `json:"written_statements,omitempty"`
	Digest   string    `json:"digest,omitempty"`  // of the graph
	Differs  string    `json:"differs,omitempty"` // a statement that our engine did not make
}

func (r *result) fail(status, reason string) { r.Status, r.Reason = status, reason }

// median returns the middle of the values, the lower one of two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// ratio returns how many times as fast as r ours was.
func (r *result) ratio(ours *result) float64 {
	if len(r.Rate) > 0 {
		return median(ours.Rate) / median(r.Rate)
	}
	return median(r.Wall) / median(ours.Wall)
}

// record is everything that is kept of a run.
type record struct {
	Date     string         `json:"date"`
	Commit   string         `json:"commit"`
	Command  string         `json:"command"`
	Minutes  float64        `json:"minutes"`
	Machine  machine        `json:"machine"`
	Runtimes []string       `json:"runtimes"`
	Engines  []engineRecord `json:"engines"`
	Rules    string         `json:"rules"`
	Results  []*result      `json:"results"`
}

type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
}

type engineRecord struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	How     string `json:"how"`
	Missing string `json:"missing,omitempty"`
}

func cores() int { return runtime.NumCPU() }

func thisMachine(ctx context.Context) machine {
	return machine{
		CPU:    procField("/proc/cpuinfo", "model name"),
		Cores:  cores(),
		Memory: procField("/proc/meminfo", "MemTotal"),
		Kernel: printed(ctx, "uname", "-sr"),
	}
}

// procField returns a value of a file of /proc, empty if there is none.
func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
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
	if printed(ctx, "git", "status", "--porcelain", "--", "annotate", "cmd/rml", "go.mod") != "" {
		return id + " with uncommitted changes"
	}
	return id
}

func runtimes(ctx context.Context) []string {
	return []string{runtime.Version(), printed(ctx, "java", "-version"), "node " + printed(ctx, "node", "--version"), printed(ctx, "python3", "--version")}
}

// command is how this program was called.
func command() string {
	return strings.TrimSpace("go run ./bench/rml " + strings.Join(os.Args[1:], " "))
}

// write writes record as JSON into the folder results, and RESULTS.md.
func (r record) write(dir string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	results := filepath.Join(dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	day, _, _ := strings.Cut(r.Date, "T")
	if err := os.WriteFile(filepath.Join(results, day+"-"+host+".json"), append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(r.markdown()), 0o644)
}

func (b *bench) record(ctx context.Context) record {
	r := record{
		Date: b.started.UTC().Format(time.RFC3339), Commit: commit(ctx), Command: command(),
		Minutes: time.Since(b.started).Minutes(),
		Machine: thisMachine(ctx), Runtimes: runtimes(ctx), Rules: b.rules(), Results: b.ordering,
	}
	for _, e := range b.engines {
		r.Engines = append(r.Engines, engineRecord{e.name, e.version, e.how, b.missing[e.name]})
	}
	return r
}
