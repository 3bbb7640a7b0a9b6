package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
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

// ratio returns how many times as fast as r ours was.
func (r *result) ratio(ours *result) float64 {
	if len(r.Rate) > 0 {
		return rig.Median(ours.Rate) / rig.Median(r.Rate)
	}
	return rig.Median(r.Wall) / rig.Median(ours.Wall)
}

// record is everything that is kept of a run.
type record struct {
	Date     string         `json:"date"`
	Commit   string         `json:"commit"`
	Command  string         `json:"command"`
	Minutes  float64        `json:"minutes"`
	Machine  rig.Machine    `json:"machine"`
	Runtimes []string       `json:"runtimes"`
	Engines  []engineRecord `json:"engines"`
	Rules    string         `json:"rules"`
	Results  []*result      `json:"results"`
}

type engineRecord struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	How     string `json:"how"`
	Missing string `json:"missing,omitempty"`
}

// commit returns the commit of what is measured.
func commit(ctx context.Context) string {
	return rig.Commit(ctx, "annotate", "cmd/rml", "go.mod", "bench/go.mod")
}

func runtimes(ctx context.Context) []string {
	return []string{
		runtime.Version(), rig.Printed(ctx, "java", "-version"),
		"node " + rig.Printed(ctx, "node", "--version"), rig.Printed(ctx, "python3", "--version"),
	}
}

// command is how this program was called.
func command() string { return rig.Command("rml") }

// write writes record as JSON into the folder results, and RESULTS.md.
func (r record) write(dir string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	day, _, _ := strings.Cut(r.Date, "T")
	return rig.Write(dir, day+"-"+host+".json", r, r.markdown())
}

func (b *bench) record(ctx context.Context) record {
	r := record{
		Date: b.started.UTC().Format(time.RFC3339), Commit: commit(ctx), Command: command(),
		Minutes: time.Since(b.started).Minutes(),
		Machine: rig.ThisMachine(ctx), Runtimes: runtimes(ctx), Rules: b.rules(), Results: b.ordering,
	}
	for _, e := range b.engines {
		r.Engines = append(r.Engines, engineRecord{e.name, e.version, e.how, b.missing[e.name]})
	}
	return r
}
