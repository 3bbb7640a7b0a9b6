package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// mostMemory is what of a peer's peak is to be enough.
const mostMemory = 0.25

// slots are the parameters of a ciphertext.
const slots = 4096

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	b.WriteString(r.Markdown("The mean of encrypted updates beside TenSEAL"))
	b.WriteString("- The sides take turns, each time as a new process; medians of the trials, lowest to highest " +
		"in brackets. MB are of 10^6 bytes.\n")
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n",
		rig.Loads(r.each(func(t *trial) float64 { return t.Load })))
	fmt.Fprintf(&b, "\n## %d clients, %s parameters in %d ciphertexts each\n\n", r.Clients,
		rig.Thousands(slots*r.Ciphertexts), r.Ciphertexts)
	b.WriteString("| | seconds | processor time, s | peak memory, MB | result, MB | greatest error " +
		"|\n|---|---:|---:|---:|---:|---:|\n")
	for _, name := range []string{ours, collected, folded} {
		errors := r.of(name, func(t *trial) float64 { return t.Error })
		if len(errors) == 0 {
			continue
		}
		size := rig.Median(r.of(name, func(t *trial) float64 { return float64(t.Size) / 1e6 }))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f | %.2g |\n", name, rig.SpreadDigits(r.of(name, seconds), 2),
			rig.SpreadDigits(r.of(name, processorTime), 2), rig.SpreadDigits(r.of(name, megabytes), 0), size, slices.Max(errors))
	}
	b.WriteString("\n")
	for _, peer := range []string{collected, folded} {
		time, work, memory := r.ratios(peer, seconds), r.ratios(peer, processorTime), r.ratios(peer, megabytes)
		if len(time) == 0 {
			continue
		}
		fmt.Fprintf(&b, "- Trial by trial %s %% of the time, %s %% of the processor time and %s %% of the memory "+
			"of %s. Targets: less time: %s; %.0f %% of the memory: %s.\n",
			rig.SpreadDigits(time, 0), rig.SpreadDigits(work, 0), rig.SpreadDigits(memory, 1), peer, rig.Verdict(rig.Median(time) < 100),
			100*mostMemory, rig.Verdict(rig.Median(memory) <= 100*mostMemory))
	}
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

func seconds(t *trial) float64 { return t.Seconds }

func processorTime(t *trial) float64 { return t.CPU }

func megabytes(t *trial) float64 { return float64(t.Peak) / 1e6 }

// each picks a number from every trial.
func (r *record) each(pick func(*trial) float64) []float64 {
	all := make([]float64, len(r.Trials))
	for i, t := range r.Trials {
		all[i] = pick(t)
	}
	return all
}

// ratios are our numbers in hundredths of a peer's of the same turn.
func (r *record) ratios(peer string, pick func(*trial) float64) []float64 {
	mine, others := r.of(ours, pick), r.of(peer, pick)
	var all []float64
	for k := range min(len(mine), len(others)) {
		all = append(all, 100*mine[k]/others[k])
	}
	return all
}
