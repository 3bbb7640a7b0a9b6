package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// What is to be shown.
const (
	leastSpeed = 3.0 // times the rounds of the peer, with the most clients
	// mostRound and mostLargeRound are times the round of the server that does nothing,
	// with models below 100 MB and from there on.
	mostRound, mostLargeRound = 1.5, 1.3
	mostMemory                = 0.25 // of the peer's peak
	mostCrowd                 = 1e9  // bytes, with all streams
)

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	b.WriteString(r.Markdown("The training collector beside the server of Flower"))
	b.WriteString("- Servers and clients share the cores and loopback. Contenders take turns, each time as a new " +
		"process; medians of the trials, lowest to highest in brackets. MB are of 10^6 bytes.\n")
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n", r.loads())
	for _, how := range r.Hows {
		fmt.Fprintf(&b, "- %s\n", how)
	}
	for _, size := range r.sizes() {
		r.roundsTable(&b, size)
	}
	r.streamsTable(&b)
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

func (r *record) loads() string {
	var loads []float64
	for _, t := range r.Rounds {
		loads = append(loads, t.Load)
	}
	for _, t := range r.Streams {
		loads = append(loads, t.Load)
	}
	if len(loads) == 0 {
		return "not noted"
	}
	return fmt.Sprintf("%.1f to %.1f, median %.1f", slices.Min(loads), slices.Max(loads), median(loads))
}

// sizes are the trainings in the order of their first trials.
func (r *record) sizes() []training {
	var all []training
	for _, t := range r.Rounds {
		if !slices.Contains(all, t.training) {
			all = append(all, t.training)
		}
	}
	return all
}

// of picks a number from the trials of a contender.
func (r *record) of(contender string, size training, pick func(*roundsTrial) float64) []float64 {
	var all []float64
	for _, t := range r.Rounds {
		if t.Contender == contender && t.training == size {
			all = append(all, pick(t))
		}
	}
	return all
}

func (r *record) roundsTable(b *strings.Builder, size training) {
	whose := map[string]string{inPython: "clients of Flower in Python", inGo: "clients in Go"}[size.In]
	fmt.Fprintf(b, "\n## %.0f MB, %d %s\n\n", float64(size.Bytes)/1e6, size.Clients, whose)
	b.WriteString("| | rounds per minute | seconds per round | server's CPU, s per round | peak memory, MB " +
		"|\n|---|---:|---:|---:|---:|\n")
	for _, name := range []string{ours, theirs, least} {
		speed := r.of(name, size, (*roundsTrial).perMinute)
		if len(speed) == 0 {
			continue
		}
		var seconds []float64
		for _, t := range r.Rounds {
			if t.Contender == name && t.training == size {
				seconds = append(seconds, t.Seconds...)
			}
		}
		cpu := r.of(name, size, func(t *roundsTrial) float64 { return t.CPU / float64(t.Rounds) })
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, spread(speed, 1), spread(seconds, 2), spread(cpu, 2),
			spread(r.of(name, size, megabytes), 0))
	}
	r.ratios(b, size)
	fmt.Fprintf(b, "\nTrainings of %d rounds, fit and evaluation with every client; a round lasts until the first "+
		"client receives the fit instruction of the next. Every client found in each round the model that the round before had "+
		"to leave.\n", size.Rounds)
}

// ratios compares the contenders trial by trial.
func (r *record) ratios(b *strings.Builder, size training) {
	if speed := r.pairs(size, ours, theirs, (*roundsTrial).perMinute); len(speed) > 0 {
		memory := r.pairs(size, ours, theirs, megabytes)
		fmt.Fprintf(b, "\nTrial by trial %s times the rounds of %s and %s %% of its memory.", spread(speed, 1),
			theirs, spread(scaled(memory, 100), 0))
		if size.Clients >= 8 {
			fmt.Fprintf(b, " Targets: %.0f times the rounds: %s; ", leastSpeed, rig.Verdict(median(speed) >= leastSpeed))
		} else {
			b.WriteString(" Target: ")
		}
		fmt.Fprintf(b, "%.0f %% of the memory: %s.\n", 100*mostMemory, rig.Verdict(median(memory) <= mostMemory))
	}
	if longer := r.pairs(size, least, ours, (*roundsTrial).perMinute); len(longer) > 0 {
		most := mostRound
		if size.Bytes >= 100e6 {
			most = mostLargeRound
		}
		cpu := r.pairs(size, ours, least, func(t *roundsTrial) float64 { return t.CPU })
		fmt.Fprintf(b, "\nTrial by trial a round takes %s times that of the server that does nothing, and %s times its "+
			"processor time. Target: %.1f times the round: %s.", spread(longer, 2), spread(cpu, 1), most, rig.Verdict(median(longer) <= most))
		if speed := r.pairs(size, least, theirs, (*roundsTrial).perMinute); len(speed) > 0 {
			fmt.Fprintf(b, " The server that does nothing has %s times the rounds of %s.", spread(speed, 1), theirs)
		}
		b.WriteString("\n")
	}
	cpu := r.of(theirs, size, func(t *roundsTrial) float64 { return t.ClientsCPU / float64(t.Rounds) })
	if len(cpu) > 0 && median(cpu) > 0 && r.Cores > 0 {
		busy := median(cpu) / float64(r.Cores)
		round := 60 / median(r.of(theirs, size, (*roundsTrial).perMinute))
		fmt.Fprintf(b, "\nThe clients alone need %.2f s a round of all %d cores, so a server that took no time "+
			"would be %.1f times as fast as %s here.\n", busy, r.Cores, round/busy, theirs)
	}
}

// pairs returns a number of one contender as a share of that of another, trial by trial.
func (r *record) pairs(size training, name, other string, pick func(*roundsTrial) float64) []float64 {
	mine, others := r.of(name, size, pick), r.of(other, size, pick)
	var all []float64
	for k := range min(len(mine), len(others)) {
		all = append(all, mine[k]/others[k])
	}
	return all
}

// megabytes is the peak of a trial.
func megabytes(t *roundsTrial) float64 { return float64(t.Peak) / 1e6 }

func (r *record) streamsTable(b *strings.Builder) {
	if len(r.Streams) == 0 {
		return
	}
	var idle, peak, seconds, cpu []float64
	for _, t := range r.Streams {
		idle, peak = append(idle, float64(t.IdlePeak)/1e6), append(peak, float64(t.Peak)/1e6)
		seconds, cpu = append(seconds, t.Seconds...), append(cpu, t.CPU)
	}
	c := r.Streams[0].crowd
	fmt.Fprintf(b, "\n## %d idle streams, %d active ones of %g MB\n\n", c.Idle, c.Active, float64(c.Bytes)/1e6)
	b.WriteString("| | peak memory with the idle ones, MB | peak memory with all, MB | seconds per round | server's " +
		"CPU, s in all |\n|---|---:|---:|---:|---:|\n")
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", ours, spread(idle, 0), spread(peak, 0), spread(seconds, 2),
		spread(cpu, 1))
	fmt.Fprintf(b, "\nTarget: under %.0f MB: %s.\n", mostCrowd/1e6, rig.Verdict(slices.Max(peak) < mostCrowd/1e6))
	fmt.Fprintf(b, "\nClients in Go, each with a connection of its own; %d rounds, each with %d clients drawn "+
		"from all %d. As many received a fit instruction in each round, and found the model that the round before "+
		"had to leave.\n",
		c.Rounds, c.Active, c.Active+c.Idle)
}

// spread is a median with the lowest and the highest.
func spread(values []float64, digits int) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, median(values), digits, slices.Min(values), digits, slices.Max(values))
}

func scaled(values []float64, by float64) []float64 {
	all := slices.Clone(values)
	for i := range all {
		all[i] *= by
	}
	return all
}

// median returns the middle of the values, the mean of two if there are two.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
