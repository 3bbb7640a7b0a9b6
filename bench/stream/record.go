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
	Date      string         `json:"date"`
	Commit    string         `json:"commit"`
	Command   string         `json:"command"`
	Minutes   float64        `json:"minutes"`
	Machine   machine        `json:"machine"`
	Runtimes  []string       `json:"runtimes"`
	Brokers   []string       `json:"brokers"`
	Trials    []*trial       `json:"trials,omitempty"`
	Latencies []latencyTrial `json:"latencies,omitempty"`
	Backlogs  []backlogTrial `json:"backlogs,omitempty"`
	Problems  []string       `json:"problems,omitempty"`

	began time.Time
}

type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
}

func newRecord(ctx context.Context) *record {
	now := time.Now()
	return &record{
		began: now, Date: now.UTC().Format(time.RFC3339), Commit: commit(ctx),
		Command: strings.TrimSpace("go run ./bench/stream " + strings.Join(os.Args[1:], " ")),
		Machine: machine{
			CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
			Memory: procField("/proc/meminfo", "MemTotal"), Kernel: printed(ctx, "uname", "-sr"),
		},
		Runtimes: []string{runtime.Version(), printed(ctx, "java", "-version")},
	}
}

// broker notes a broker that was used.
func (r *record) broker(version string) {
	if !slices.Contains(r.Brokers, version) {
		r.Brokers = append(r.Brokers, version)
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
	if printed(ctx, "git", "status", "--porcelain", "--", "annotate", "bench/stream", "go.mod") != "" {
		return id + " with uncommitted changes"
	}
	return id
}

// median returns the middle of the values, the lower one of two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)/2]
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	r.Minutes = time.Since(r.began).Minutes()
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
	name := fmt.Sprintf("%s-%s.json", r.began.UTC().Format("2006-01-02-1504"), host)
	if err := os.WriteFile(filepath.Join(results, name), append(content, '\n'), 0o644); err != nil {
		return err
	}
	return r.tell(dir)
}

// tell writes RESULTS.md.
func (r *record) tell(dir string) error {
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(r.markdown()), 0o644)
}

// rewrite writes RESULTS.md beside the folder that a record is in.
func rewrite(args []string) error {
	if len(args) != 1 {
		return errors.New("report: the file of one record is needed")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil {
		return fmt.Errorf("read record %q: %w", args[0], err)
	}
	return r.tell(filepath.Dir(filepath.Dir(args[0])))
}
