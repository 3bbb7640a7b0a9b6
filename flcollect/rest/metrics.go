package rest

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the numbers of a server, and of the process, in the text
// format of Prometheus, from a registry of its own.
func metrics(totals func() flcollect.Totals) httpapi.HandlerFunc {
	return exposition.Handler(newTotalsCollector(totals))
}

// totalsCollector reads all numbers at once when they are collected.
type totalsCollector struct {
	totals  func() flcollect.Totals
	jobs    *prometheus.Desc
	ended   *prometheus.Desc
	seconds *prometheus.Desc
	epsilon *prometheus.Desc
	numbers []number
}

// number is one of the totals.
type number struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(flcollect.Totals) float64
}

func newTotalsCollector(totals func() flcollect.Totals) *totalsCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("flcollector_"+name, help, labels, nil)
	}
	gauge := func(name, help string, of func(flcollect.Totals) int) number {
		return number{desc(name, help), prometheus.GaugeValue, func(t flcollect.Totals) float64 { return float64(of(t)) }}
	}
	counter := func(name, help string, of func(flcollect.Totals) int64) number {
		return number{desc(name, help), prometheus.CounterValue, func(t flcollect.Totals) float64 { return float64(of(t)) }}
	}
	return &totalsCollector{
		totals:  totals,
		jobs:    desc("jobs", "Jobs that there are.", "state"),
		ended:   desc("jobs_ended_total", "Runs of jobs that ended at this server.", "state"),
		seconds: desc("round_duration_seconds", "How long the rounds took that were finished."),
		epsilon: desc("job_epsilon", fmt.Sprintf("Epsilon of jobs with differential privacy: the active ones and the last %d that have ended.",
			flcollect.MaxEpsilons), "job"),
		numbers: []number{
			gauge("clients", "Clients that are connected.", func(t flcollect.Totals) int { return t.Clients }),
			gauge("lobby_clients", "Clients that wait for a job.", func(t flcollect.Totals) int { return t.Lobby }),
			gauge("undelivered_jobs", "Jobs with news or results that a neighbour has not taken yet.",
				func(t flcollect.Totals) int { return t.Undelivered }),
			{desc("epsilon", "The greatest of flcollector_job_epsilon."),
				prometheus.GaugeValue, func(t flcollect.Totals) float64 { return t.Epsilon }},
			counter("rounds_total", "Rounds that were finished.", func(t flcollect.Totals) int64 { return t.Rounds }),
			counter("client_results_total", "Answers of clients that were taken.", func(t flcollect.Totals) int64 { return t.Results }),
			counter("client_failures_total", "Answers of clients that did not come or were not taken.",
				func(t flcollect.Totals) int64 { return t.Failures }),
			counter("quarantined_updates_total", "Updates and evaluations that were refused for what they held.",
				func(t flcollect.Totals) int64 { return t.Quarantined }),
			counter("refused_updates_total", "Updates that were refused.", func(t flcollect.Totals) int64 { return t.Refused }),
			counter("clipped_updates_total", "Updates that were shortened for lying too far from the model.",
				func(t flcollect.Totals) int64 { return t.Clipped }),
			counter("far_updates_total", "Updates that lay too far from the model and were kept whole.",
				func(t flcollect.Totals) int64 { return t.Far }),
			counter("converted_updates_total", "Updates with layers of another type than the model.",
				func(t flcollect.Totals) int64 { return t.Converted }),
			counter("compressed_updates_total", "Updates that clients had compressed.", func(t flcollect.Totals) int64 { return t.Compressed }),
			counter("suspensions_total", "How many times a client was suspended.", func(t flcollect.Totals) int64 { return t.Suspensions }),
			counter("sent_bytes_total", "Bytes of parameters that went to clients.", func(t flcollect.Totals) int64 { return t.Sent }),
			counter("received_bytes_total", "Bytes of parameters that came from clients.", func(t flcollect.Totals) int64 { return t.Received }),
		},
	}
}

// Describe implements prometheus.Collector.
func (c *totalsCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.jobs
	descs <- c.ended
	descs <- c.seconds
	descs <- c.epsilon
	for _, n := range c.numbers {
		descs <- n.desc
	}
}

// Collect implements prometheus.Collector.
func (c *totalsCollector) Collect(metrics chan<- prometheus.Metric) {
	totals := c.totals()
	for _, state := range []report.State{report.Waiting, report.Training, report.Interrupted, report.Finished} {
		metrics <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(totals.Jobs[state]), string(state))
	}
	for _, state := range []report.State{report.Interrupted, report.Finished} {
		metrics <- prometheus.MustNewConstMetric(c.ended, prometheus.CounterValue, float64(totals.Ended[state]), string(state))
	}
	metrics <- c.durations(totals)
	for id, epsilon := range totals.Epsilons {
		metrics <- prometheus.MustNewConstMetric(c.epsilon, prometheus.GaugeValue, epsilon, id)
	}
	for _, n := range c.numbers {
		metrics <- prometheus.MustNewConstMetric(n.desc, n.kind, n.of(totals))
	}
}

// durations returns the durations of rounds in the cumulative form of Prometheus.
func (c *totalsCollector) durations(totals flcollect.Totals) prometheus.Metric {
	buckets, count := map[float64]uint64{}, uint64(0)
	for i, bound := range totals.Durations.Bounds() {
		count += uint64(totals.Durations.Counts[i])
		buckets[bound] = count
	}
	return prometheus.MustNewConstHistogram(c.seconds, uint64(totals.Rounds), totals.Seconds, buckets)
}
