package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
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
	const versions = `import sys, importlib.metadata as m; print("Python", sys.version.split()[0] + "; " + "; ` +
		`".join(p + " " + m.version(p) for p in ["flwr", "grpcio", "protobuf", "numpy"]))`
	r := &record{
		Date: time.Now().UTC().Format(time.RFC3339),
		Commit: rig.Commit(ctx, "flcollect", "storage", "cmd/flcollector", "bench/collect/*.go",
			"bench/collect/python", "bench/internal", "internal", "go.mod", "bench/go.mod"),
		Command:  rig.Command("collect"),
		Cores:    runtime.NumCPU(),
		Machine:  rig.ThisMachine(ctx).String(),
		Versions: []string{runtime.Version(), rig.Printed(ctx, b.python, "-c", versions)},
	}
	for _, c := range b.contenders {
		r.Hows = append(r.Hows, c.name+": "+c.how)
	}
	return r
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	return rig.Write(dir, rig.FileName(r.Date), r, r.markdown())
}

// rewrite writes RESULTS.md beside the folder of some records, the trials of
// all together.
func rewrite(files []string) error {
	all, dir, err := rig.ReadAll(files, (*record).add)
	if err != nil {
		return err
	}
	return rig.WriteReport(dir, all.markdown())
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if r.Machine != other.Machine || !slices.Equal(r.Versions, other.Versions) {
		return errors.New("it is of another machine, or of other versions")
	}
	r.Date += " and " + other.Date
	r.Command += "` and `" + other.Command
	if other.Commit != r.Commit {
		r.Commit += " and " + other.Commit
	}
	r.Rounds, r.Streams = append(r.Rounds, other.Rounds...), append(r.Streams, other.Streams...)
	r.Problems = append(r.Problems, other.Problems...)
	return nil
}
