package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/peertest"
)

// The sides, by the names that are in the record.
const (
	ours      = "flcollect/ckks"
	collected = "TenSEAL, all updates at once" // as the original collector does it
	folded    = "TenSEAL, one by one"
)

// bound is how far our mean may be from that of the plain models.
const bound = 1e-6

// measure is what a side measures of itself.
type measure struct {
	// Seconds is how long it took from the first update to the whole result.
	Seconds float64 `json:"seconds"`
	// CPU is the processor time of all its threads meanwhile, in seconds.
	CPU float64 `json:"cpu"`
	// Peak is the greatest resident memory of its process, in bytes, the
	// interpreter included.
	Peak int64 `json:"peak"`
	// Size is the bytes of the result.
	Size int64 `json:"size"`
}

// trial is one aggregation by one side.
type trial struct {
	Side  string  `json:"side"`
	Round int     `json:"round"`
	Load  float64 `json:"load"` // average of the machine before
	measure
	// Error is the greatest distance from the mean of the plain models.
	Error float64 `json:"error"`
}

// side is a program that is given a folder with updates and the file for its result.
type side struct {
	name    string
	command []string
}

// bench is a run of the benchmark.
type bench struct {
	settings
	folder string
	python string
	script string // of the clients and the peer
	sides  []side
	record *record
}

// prepare has Python make keys, models and updates.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.python, err = peertest.PythonProgram(packages()...); err != nil {
		return fmt.Errorf("%w; %s=1 installs it", err, peertest.RequirePeers)
	}
	if b.script, err = filepath.Abs(filepath.Join("bench", "ckks", "python", "peer.py")); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	b.sides = []side{
		{ours, []string{program, "aggregate"}},
		{collected, []string{b.python, b.script, "collect"}},
		{folded, []string{b.python, b.script, "fold"}},
	}
	_, err = b.output(ctx, b.python, b.script, "encrypt", b.updates(), fmt.Sprint(b.clients), fmt.Sprint(b.ciphertexts))
	return err
}

// packages are those of the peer.
func packages() []string { return []string{"tenseal==0.3.18", "numpy==2.2.6"} }

func (b *bench) updates() string { return filepath.Join(b.folder, "updates") }

// try has a side aggregate, and checks what came of it.
func (b *bench) try(ctx context.Context, round int, s side) error {
	rig.AwaitCalm(ctx, b.calm)
	t := &trial{Side: s.name, Round: round, Load: rig.LoadAverage()}
	result := filepath.Join(b.folder, "result")
	text, err := b.output(ctx, s.command[0], append(s.command[1:len(s.command):len(s.command)], b.updates(), result)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &t.measure); err != nil {
		return err
	}
	if text, err = b.output(ctx, b.python, b.script, "check", b.updates(), result); err != nil {
		return err
	}
	if _, err := fmt.Sscan(text, &t.Error); err != nil {
		return err
	}
	b.record.Trials = append(b.record.Trials, t)
	if s.name == ours && t.Error >= bound {
		return fmt.Errorf("its error of %g is not below %g", t.Error, bound)
	}
	return nil
}

// output runs a program to its end and returns the last line that it prints.
func (b *bench) output(ctx context.Context, name string, args ...string) (string, error) {
	p, err := rig.Start(ctx, filepath.Join(b.folder, "errors"), nil, name, args...)
	if err != nil {
		return "", err
	}
	defer p.End()
	lines, err := p.Rest()
	return strings.Join(lines[max(0, len(lines)-1):], ""), err
}
