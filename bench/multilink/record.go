package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	Date        string        `json:"date"`
	Commit      string        `json:"commit"`
	Command     string        `json:"command"`
	Machine     string        `json:"machine"`
	Versions    []string      `json:"versions"`
	MTU         int           `json:"mtu"`
	Seconds     float64       `json:"secondsOfADirection"`
	Patience    float64       `json:"patienceSeconds"`
	Throughputs []*throughput `json:"throughputs"`
	Failovers   []*failover   `json:"failovers"`
	Machined    []machined    `json:"machined,omitempty"`
	Hows        []string      `json:"hows"`
	Problems    []string      `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Date: time.Now().UTC().Format(time.RFC3339),
		Commit: rig.Commit(ctx, "multilink", "cmd/multilink", "bench/multilink", "bench/internal",
			"internal/netlab", "go.mod", "bench/go.mod"),
		Command: rig.Command("multilink"),
		Machine: rig.ThisMachine(ctx).String(),
		MTU:     mtu, Seconds: s.length.Seconds(), Patience: s.patience.Seconds(),
		Versions: []string{
			runtime.Version(), firstSaid(ctx, "openvpn", "--version"), firstSaid(ctx, "fastd", "--version"),
			firstSaid(ctx, "tincd", "--version"), firstSaid(ctx, "iperf3", "--version"),
		},
	}
}

// firstSaid is the first line that a command prints about its version, which some print
// with a status of failure.
func firstSaid(ctx context.Context, name string, args ...string) string {
	text, _ := exec.CommandContext(ctx, name, args...).CombinedOutput()
	line, _, _ := strings.Cut(rig.FirstLine(string(text)), " [")
	return line
}

func (r *record) addHow(c contender) {
	r.Hows = append(r.Hows, c.name+": "+c.how)
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	return rig.Write(dir, rig.FileName(r.Date), r, r.markdown())
}

// rewrite writes RESULTS.md beside the folder of some records, the trials of all
// together.
func rewrite(files []string) error {
	all, dir, err := rig.ReadAll(files, (*record).add)
	if err != nil {
		return err
	}
	return rig.WriteReport(dir, all.markdown())
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if r.Machine != other.Machine || !slices.Equal(r.Versions, other.Versions) || r.MTU != other.MTU {
		return errors.New("it is of another machine, of other versions or of another MTU")
	}
	r.Date += " and " + other.Date
	r.Command += "` and `" + other.Command
	if other.Commit != r.Commit {
		r.Commit += " and " + other.Commit
	}
	r.Throughputs = append(r.Throughputs, other.Throughputs...)
	r.Failovers = append(r.Failovers, other.Failovers...)
	r.Machined = append(r.Machined, other.Machined...)
	for _, how := range other.Hows {
		if !slices.Contains(r.Hows, how) {
			r.Hows = append(r.Hows, how)
		}
	}
	r.Problems = append(r.Problems, other.Problems...)
	return nil
}
