package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	Date        string   `json:"date"`
	Commit      string   `json:"commit"`
	Command     string   `json:"command"`
	Machine     string   `json:"machine"`
	Versions    []string `json:"versions"`
	Clients     int      `json:"clients"`
	Ciphertexts int      `json:"ciphertexts"` // of an update
	Trials      []*trial `json:"trials"`
	Problems    []string `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, s settings) *record {
	r := &record{
		Date:     time.Now().UTC().Format(time.RFC3339),
		Commit:   rig.Commit(ctx, "flcollect/ckks", "bench/ckks", "bench/internal", "go.mod", "bench/go.mod"),
		Command:  rig.Command("ckks"),
		Machine:  rig.ThisMachine(ctx).String(),
		Versions: []string{runtime.Version(), rig.Printed(ctx, "python3", "--version")},
		Clients:  s.clients, Ciphertexts: s.ciphertexts,
	}
	for _, name := range packages() {
		r.Versions = append(r.Versions, strings.Replace(name, "==", " ", 1))
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
	if r.Clients != other.Clients || r.Ciphertexts != other.Ciphertexts {
		return errors.New("it is of other updates")
	}
	r.Date += " and " + other.Date
	r.Command += "` and `" + other.Command
	if other.Commit != r.Commit {
		r.Commit += " and " + other.Commit
	}
	r.Trials = append(r.Trials, other.Trials...)
	r.Problems = append(r.Problems, other.Problems...)
	return nil
}

// of picks a number from the trials of a side.
func (r *record) of(side string, pick func(*trial) float64) []float64 {
	var all []float64
	for _, t := range r.Trials {
		if t.Side == side {
			all = append(all, pick(t))
		}
	}
	return all
}
