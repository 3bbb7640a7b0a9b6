package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	b.WriteString(r.Markdown("The multi-link tunnel beside OpenVPN, fastd, tinc and Multipath TCP"))
	fmt.Fprintf(&b, "- Two network namespaces and three links between them, each a pair of veth, a bridge and "+
		"another pair. Every tunnel's device has an MTU of %d bytes, every process the same priority. Contenders "+
		"take turns, each started anew; medians of the rounds, lowest to highest in brackets.\n", r.MTU)
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n", rig.Loads(r.loads()))
	for _, how := range r.Hows {
		fmt.Fprintf(&b, "- %s\n", how)
	}
	r.goals(&b)
	r.throughputTable(&b)
	r.failoverTables(&b)
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

func (r *record) loads() (all []float64) {
	for _, t := range r.Throughputs {
		all = append(all, t.Load)
	}
	for _, t := range r.Failovers {
		all = append(all, t.Load)
	}
	return all
}

// names are those of the contenders, in the order of the explanations, which is
// that of the lists.
func (r *record) names(has func(name string) bool) (names []string) {
	for _, how := range r.Hows {
		if name, _, _ := strings.Cut(how, ": "); has(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// pick are the numbers of a contender.
func (r *record) pick(name string, of func(*throughput) float64) (all []float64) {
	for _, t := range r.Throughputs {
		if t.Contender == name {
			all = append(all, of(t))
		}
	}
	return all
}

func forward(t *throughput) float64    { return t.Forward.Rate }
func reverse(t *throughput) float64    { return t.Reverse.Rate }
func forwardCPU(t *throughput) float64 { return t.Forward.CPU }
func reverseCPU(t *throughput) float64 { return t.Reverse.CPU }

// goals says what was wanted and what came of it.
func (r *record) goals(b *strings.Builder) {
	ours := func(of func(*throughput) float64) float64 { return rig.Median(r.pick("ours", of)) }
	b.WriteString("\n| wanted | forward | reverse | CPU for a gigabit, forward | reverse |\n|---|---:|---:|---:|---:|\n")
	for _, goal := range []struct{ text, prefix string }{
		{"at least 2 times OpenVPN", "OpenVPN"}, {"ahead of fastd", "fastd"}, {"ahead of tinc", "tinc"},
	} {
		// Of a peer's ciphers the faster one counts, in each direction.
		best := func(of func(*throughput) float64, better func(...float64) float64) (found float64) {
			for _, name := range r.names(func(name string) bool {
				return strings.HasPrefix(name, goal.prefix) &&
					len(r.pick(name, of)) > 0
			}) {
				if value := rig.Median(r.pick(name, of)); found == 0 {
					found = value
				} else {
					found = better(found, value)
				}
			}
			return found
		}
		most := func(v ...float64) float64 { return slices.Max(v) }
		least := func(v ...float64) float64 { return slices.Min(v) }
		if f, v := best(forward, most), best(reverse, most); f > 0 && v > 0 && ours(forward) > 0 {
			fmt.Fprintf(b, "| %s | %.2f times | %.2f times | %.2f times | %.2f times |\n", goal.text, ours(forward)/f, ours(reverse)/v,
				ours(forwardCPU)/best(forwardCPU, least), ours(reverseCPU)/best(reverseCPU, least))
		}
	}
}

func (r *record) throughputTable(b *strings.Builder) {
	names := r.names(func(name string) bool { return len(r.pick(name, forward)) > 0 })
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Throughput\n\nA connection of TCP by iperf3, %.0f s in each direction. The processor "+
		"time is that of both tunnel processes.\n\n", r.Seconds)
	b.WriteString("| | rounds | forward, Mbit/s | reverse, Mbit/s | CPU for a gigabit, s, forward | reverse " +
		"|\n|---|---:|---:|---:|---:|---:|\n")
	for _, name := range names {
		cost := func(of func(*throughput) float64) string {
			if c := rig.Median(r.pick(name, of)); c > 0 {
				return fmt.Sprintf("%.2f", c)
			}
			return "–"
		}
		rates := r.pick(name, forward)
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s |\n", name, len(rates), rig.Spread(rates),
			rig.Spread(r.pick(name, reverse)), cost(forwardCPU), cost(reverseCPU))
	}
}

// met are the trials of a contender with a fault.
func (r *record) met(name, fault string) (all []*failover) {
	for _, t := range r.Failovers {
		if t.Contender == name && t.Fault == fault {
			all = append(all, t)
		}
	}
	return all
}

func (r *record) failoverTables(b *strings.Builder) {
	if len(r.Failovers)+len(r.Machined) == 0 {
		return
	}
	b.WriteString("\n## Failover\n\nThe client sends a packet every millisecond, or 10,000 a second of 1,300 " +
		"bytes (flooded), which the server sends back. A gap is the longest time without an answer, in ms. " +
		"Calm is a second or half of one before the fault, and says what the machine does by itself. Then the " +
		"primary fails, until the contender has recovered and half a second or a second longer. " +
		"Back is from the restoration of the primary on, for two seconds, after which it carries the packets " +
		"again or does not. Twice are answers that came again.\n")
	for _, fault := range []string{silent, carrier, flooded} {
		names := r.names(func(name string) bool { return len(r.met(name, fault)) > 0 })
		machined := r.Machined
		if fault != silent { // they are about all faults, and shown once
			machined = nil
		}
		if len(names)+len(machined) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n### %s\n\n| | rounds | calm: gap | lost | failed: gap | lost | back: gap | lost | "+
			"primary again | twice |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", strings.ToUpper(fault[:1])+fault[1:])
		for _, name := range names {
			fmt.Fprintln(b, r.failoverRow(name, r.met(name, fault)))
		}
		for _, m := range machined {
			fmt.Fprintf(b, "| %s | 1 | | | | all faults together: %d of %s | | | | |\n", m.Contender, m.Lost, rig.Thousands(m.Sent))
		}
	}
	b.WriteString("\n- The virtual machine has what the kernel here has not: bonding. It pings twice a second " +
		"through two silent cuts, two restorations, a lost carrier and its return (`test/multilink/vm`). Its " +
		"processor is emulated, so that its times say nothing, and its counts compare with each other only.\n" +
		"- Multipath TCP is not comparable in all: it does not encrypt, and carries nothing but TCP. A connection " +
		"of TCP loses nothing, it only stalls.\n" +
		"- OpenVPN, tinc and fastd reconnect: they have no path in reserve, and their times are the shortest that " +
		"their configurations take.\n")
}

// failoverRow is the row of a contender.
func (r *record) failoverRow(name string, trials []*failover) string {
	of := func(value func(*failover) float64) (all []float64) {
		for _, t := range trials {
			all = append(all, value(t))
		}
		return all
	}
	recovered, returned := 0, 0
	for _, t := range trials {
		if t.Recovered {
			recovered++
		}
		if t.Returned {
			returned++
		}
	}
	gap := rig.Spread(of(func(t *failover) float64 { return t.Fell.Gap }))
	if recovered < len(trials) {
		gap = fmt.Sprintf("over %s in %d of %d", rig.Thousands(int(r.Patience*1000)), len(trials)-recovered, len(trials))
	}
	lost := func(p func(*failover) phase) string {
		sent := int(rig.Median(of(func(t *failover) float64 { return float64(p(t).Sent) })))
		return fmt.Sprintf("%s of %s", rig.Spread(of(func(t *failover) float64 { return float64(p(t).Lost) })), rig.Thousands(sent))
	}
	quiet, fell, rose := func(t *failover) phase { return t.Calm }, func(t *failover) phase { return t.Fell },
		func(t *failover) phase { return t.Rose }
	return fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %s | %s | %d of %d | %s |", name, len(trials),
		rig.Spread(of(func(t *failover) float64 { return t.Calm.Gap })), lost(quiet), gap, lost(fell),
		rig.Spread(of(func(t *failover) float64 { return t.Rose.Gap })), lost(rose), returned, len(trials),
		rig.Spread(of(func(t *failover) float64 { return float64(t.Twice) })))
}
