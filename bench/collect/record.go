package main

import (
	"context"
	"runtime"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	rig.Head
	Cores   int             `json:"cores"`
	Rounds  []*roundsTrial  `json:"rounds,omitempty"`
	Streams []*streamsTrial `json:"streams,omitempty"`
	Hows    []string        `json:"hows"`
}

func newRecord(ctx context.Context, b *bench) *record {
	const versions = `import sys, importlib.metadata as m; print("Python", sys.version.split()[0] + "; " + "; ` +
		`".join(p + " " + m.version(p) for p in ["flwr", "grpcio", "protobuf", "numpy"]))`
	r := &record{
		Head: rig.NewHead(ctx, "collect", []string{rig.Printed(ctx, b.python, "-c", versions)}, "flcollect", "storage", "cmd/flcollector",
			"bench/collect/*.go", "bench/collect/python", "bench/internal", "internal", "go.mod", "bench/go.mod"),
		Cores: runtime.NumCPU(),
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

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if err := r.Join(other.Head); err != nil {
		return err
	}
	r.Rounds, r.Streams = append(r.Rounds, other.Rounds...), append(r.Streams, other.Streams...)
	return nil
}
