package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// section is a table of contenders.
type section struct {
	name, title, about string
	base               string // the contender that others are compared with
	contenders         []contender
}

func sections() []section {
	return []section{
		{"mqtt", "MQTT to MQTT", "One topic to one topic over mosquitto, QoS 1, everything at the same time: " +
			"generator, contender, sink.", "passthrough", mqttContenders()},
		{"kafka", "Kafka to Kafka", "Topics of 4 partitions on one broker, filled before; the output is not " +
			"read meanwhile.", "passthrough", kafkaContenders()},
		{"kfake", "Kafka in memory", "The same over a cluster that keeps everything in memory and does nothing " +
			"else (kfake, one process), to show what the clients cost.", "passthrough", kafkaContenders()},
	}
}

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Channels side by side\n\nWritten by the benchmark; do not edit. `%s`, %s, commit %s, %.0f "+
		"minutes.\n\n", r.Command, r.Date, r.Commit, r.Minutes)
	fmt.Fprintf(&b, "- Machine: %s\n- Runtimes: %s\n- Brokers: %s\n", r.Machine, strings.Join(r.Runtimes, "; "),
		strings.Join(r.Brokers, "; "))
	b.WriteString("- JSON messages of 500 bytes, a mapping of 12 statements. Contenders take turns; medians of " +
		"the rounds. The middle of each trial counts, from 40 to 97 of a hundred messages.\n")
	b.WriteString("- CPU is the processor time of the contender's process, or of the broker's, a message. All " +
		"processes share the cores, so CPU compares better than the rate.\n")
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n", r.loads())
	b.WriteString("- After each trial: nothing lost, order kept for each of 64 keys, and ten outputs are read and " +
		"equal, as graphs, to what the mapping means. A trial that fails has no numbers.\n")
	for _, s := range sections() {
		r.table(&b, s)
	}
	r.latencyTable(&b)
	r.backlogTable(&b)
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

// loads returns the least, the middle and the greatest load average.
func (r *record) loads() string {
	var loads []float64
	for _, t := range r.Trials {
		loads = append(loads, t.Load)
	}
	return rig.Loads(loads)
}

// summary is what the rounds of a contender come to.
type summary struct {
	pace
	low, high  float64 // rates
	peak       int64
	size       float64
	duplicates int
	messages   int
	failure    string
	rounds     int
}

func (r *record) summarize(section, name string) summary {
	var s summary
	var rates, cpus, brokers, sizes []float64
	for _, t := range r.Trials {
		if t.Section != section || t.Contender != name {
			continue
		}
		s.rounds++
		if t.Error != "" {
			s.failure = fmt.Sprintf("round %d: %s", t.Round, rig.FirstLine(t.Error))
			continue
		}
		rates, cpus, brokers, sizes = append(rates, t.Rate), append(cpus, t.CPU), append(brokers, t.BrokerCPU),
			append(sizes, t.OutBytes)
		s.peak, s.messages, s.duplicates = max(s.peak, t.Peak), t.Messages, s.duplicates+t.Duplicates
	}
	s.Rate, s.CPU, s.BrokerCPU, s.size = rig.Median(rates), rig.Median(cpus), rig.Median(brokers), rig.Median(sizes)
	if len(rates) > 0 {
		s.low, s.high = slices.Min(rates), slices.Max(rates)
	}
	return s
}

func (r *record) table(b *strings.Builder, s section) {
	base := r.summarize(s.name, s.base)
	var failures []string
	var legend strings.Builder
	for _, c := range s.contenders {
		sum := r.summarize(s.name, c.name)
		if sum.rounds == 0 {
			continue
		}
		if legend.Len() == 0 {
			fmt.Fprintf(b, "\n## %s\n\n%s\n\n", s.title, s.about)
			b.WriteString("| Contender | Messages | Rate | Lowest to highest | Of passthrough | CPU | Broker's " +
				"CPU | Out | Peak memory |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		}
		fmt.Fprintf(&legend, "- %s: %s\n", c.name, c.how)
		if sum.failure != "" {
			failures = append(failures, c.name+", "+sum.failure)
		}
		if sum.Rate == 0 {
			fmt.Fprintf(b, "| %s | | failed | | | | | | |\n", c.name)
			continue
		}
		ratio := ""
		if base.Rate > 0 {
			ratio = fmt.Sprintf("%.0f %%", 100*sum.Rate/base.Rate)
		}
		fmt.Fprintf(b, "| %s | %s | %s/s | %s to %s | %s | %.1f µs | %.1f µs | %.0f B | %d MB |\n", c.name,
			rig.Thousands(sum.messages),
			rig.Thousands(int(sum.Rate)), rig.Thousands(int(sum.low)), rig.Thousands(int(sum.high)), ratio, sum.CPU,
			sum.BrokerCPU, sum.size, sum.peak>>20)
	}
	if legend.Len() == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s", legend.String())
	for _, f := range failures {
		fmt.Fprintf(b, "- **Failed:** %s\n", f)
	}
}

func (r *record) latencyTable(b *strings.Builder) {
	if len(r.Latencies) == 0 {
		return
	}
	b.WriteString("\n## Latency at half load\n\nIn the channel: from arrival to acknowledgement, upper bounds by " +
		"the channel's own histogram. Through: from the generator to the sink.\n\n")
	b.WriteString("| | Contender | Rate | In the channel, ms: p50, p95, p99, p99.9 | Through, ms: p50, p95, p99, " +
		"p99.9 |\n|---|---|---:|---|---|\n")
	list := func(values map[string]float64) string {
		if values == nil {
			return ""
		}
		var texts []string
		for _, q := range quantiles() {
			texts = append(texts, fmt.Sprintf("%.3g", values[q.name]))
		}
		return strings.Join(texts, ", ")
	}
	for _, t := range r.Latencies {
		if t.Error != "" {
			fmt.Fprintf(b, "| %s | %s | %s/s | **failed:** %s | |\n", t.Section, t.Contender,
				rig.Thousands(int(t.Rate)), rig.FirstLine(t.Error))
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s/s | %s | %s |\n", t.Section, t.Contender, rig.Thousands(int(t.Rate)),
			list(t.Channel), list(t.Through))
	}
}

func (r *record) backlogTable(b *strings.Builder) {
	if len(r.Backlogs) == 0 {
		return
	}
	b.WriteString("\n## Memory behind a backlog\n\nThe messages wait at the broker when the channel starts. Peak " +
		"memory of the channel's process until all are through.\n\n")
	b.WriteString("| | Contender | Backlog | Peak memory | Time to empty |\n|---|---|---:|---:|---:|\n")
	for _, t := range r.Backlogs {
		if t.Error != "" {
			fmt.Fprintf(b, "| %s | %s | %s | **failed:** %s | |\n", t.Section, t.Contender, rig.Thousands(t.Backlog),
				rig.FirstLine(t.Error))
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d MB | %.1f s |\n", t.Section, t.Contender, rig.Thousands(t.Backlog),
			t.Peak>>20, t.Seconds)
	}
}
