package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	Date      string         `json:"date"`
	Commit    string         `json:"commit"`
	Command   string         `json:"command"`
	Minutes   float64        `json:"minutes"`
	Machine   rig.Machine    `json:"machine"`
	Runtimes  []string       `json:"runtimes"`
	Brokers   []string       `json:"brokers"`
	Trials    []*trial       `json:"trials,omitempty"`
	Latencies []latencyTrial `json:"latencies,omitempty"`
	Backlogs  []backlogTrial `json:"backlogs,omitempty"`
	Problems  []string       `json:"problems,omitempty"`

	began time.Time
}

func newRecord(ctx context.Context) *record {
	now := time.Now()
	return &record{
		began: now, Date: now.UTC().Format(time.RFC3339),
		Commit:   rig.Commit(ctx, "annotate", "bench/stream", "bench/internal", "go.mod", "bench/go.mod"),
		Command:  rig.Command("stream"),
		Machine:  rig.ThisMachine(ctx),
		Runtimes: []string{runtime.Version(), rig.Printed(ctx, "java", "-version")},
	}
}

// broker notes a broker that was used.
func (r *record) broker(version string) {
	if !slices.Contains(r.Brokers, version) {
		r.Brokers = append(r.Brokers, version)
	}
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	r.Minutes = time.Since(r.began).Minutes()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.json", r.began.UTC().Format("2006-01-02-1504"), host)
	return rig.Write(dir, name, r, r.markdown())
}

// rewrite writes RESULTS.md beside the folder that a record is in.
func rewrite(args []string) error {
	if len(args) != 1 {
		return errors.New("report: the file of one record is needed")
	}
	r, dir, err := rig.Read[record](args[0])
	if err != nil {
		return err
	}
	return rig.WriteReport(dir, r.markdown())
}
