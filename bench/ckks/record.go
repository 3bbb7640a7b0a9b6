package main

import (
	"context"
	"errors"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	rig.Head
	Clients     int      `json:"clients"`
	Ciphertexts int      `json:"ciphertexts"` // of an update
	Trials      []*trial `json:"trials"`
}

func newRecord(ctx context.Context, s settings) *record {
	versions := []string{rig.Printed(ctx, "python3", "--version")}
	for _, name := range packages() {
		versions = append(versions, strings.Replace(name, "==", " ", 1))
	}
	return &record{
		Head:    rig.NewHead(ctx, "ckks", versions, "flcollect/ckks", "bench/ckks", "bench/internal", "go.mod", "bench/go.mod"),
		Clients: s.clients, Ciphertexts: s.ciphertexts,
	}
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
	if r.Clients != other.Clients || r.Ciphertexts != other.Ciphertexts {
		return errors.New("it is of other updates")
	}
	r.Trials = append(r.Trials, other.Trials...)
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
