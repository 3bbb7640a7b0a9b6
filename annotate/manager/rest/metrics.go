package rest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// metrics serves the counts of all channels, and of the process, in the text
// format of Prometheus, from a registry of its own.
func metrics(m *manager.Manager) httpapi.HandlerFunc {
	return exposition.Handler(newChannelCollector(m))
}

// channelCollector reads the counts when they are scraped, so that counting
// costs the channels nothing extra.
type channelCollector struct {
	manager  *manager.Manager
	instance string
	running  *prometheus.Desc
	lag      *prometheus.Desc
	latency  *prometheus.Desc
	counts   []channelCount
}

type channelCount struct {
	desc *prometheus.Desc
	of   func(annotate.Stats) uint64
}

func newChannelCollector(m *manager.Manager) *channelCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("annotator_"+name, help, []string{"channel"}, nil)
	}
	counter := func(name, help string, of func(annotate.Stats) uint64) channelCount {
		return channelCount{desc(name, help), of}
	}
	return &channelCollector{
		manager: m, instance: m.Config().Instance,
		running: desc("channel_running", "1 while the channel runs in this instance, 0 while it is stopped or runs in another."),
		lag:     desc("lag_messages", "Messages that wait at the input broker, where it tells."),
		latency: desc("latency_seconds", "Time from the arrival of a message to its acknowledgement."),
		counts: []channelCount{
			counter("messages_received_total", "Messages that came in, redeliveries included.", func(s annotate.Stats) uint64 { return s.Received }),
			counter("messages_published_total", "Messages whose annotated output was confirmed.",
				func(s annotate.Stats) uint64 { return s.Published }),
			counter("messages_failed_total", "Messages that could not be annotated or published.",
				func(s annotate.Stats) uint64 { return s.Failed }),
			counter("messages_without_statements_total", "Messages that gave no statement.",
				func(s annotate.Stats) uint64 { return s.Empty }),
			counter("messages_unmatched_total", "Messages in which no iterator selected a record.",
				func(s annotate.Stats) uint64 { return s.Unmatched }),
			counter("messages_invalid_total", "Messages whose output violates the shapes; they have failed.",
				func(s annotate.Stats) uint64 { return s.Invalid }),
			counter("messages_warned_total", "Messages that were published although the shapes warn of them.",
				func(s annotate.Stats) uint64 { return s.Warned }),
			counter("literals_ill_typed_total", "Literals whose text their datatype does not have, given out as they are.",
				func(s annotate.Stats) uint64 { return s.IllTyped }),
			counter("rows_irregular_total", "Rows of CSV that were cut, filled up or passed over as comments.",
				func(s annotate.Stats) uint64 { return s.IrregularRows }),
			counter("received_bytes_total", "Bytes of the messages that came in.", func(s annotate.Stats) uint64 { return s.ReceivedBytes }),
			counter("published_bytes_total", "Bytes of the confirmed outputs.", func(s annotate.Stats) uint64 { return s.PublishedBytes }),
			counter("monitor_notes_dropped_total", "Monitoring notes dropped because their broker was too slow.",
				func(s annotate.Stats) uint64 { return s.NotesDropped }),
			counter("messages_revoked_total", "Messages that the broker took back, to deliver them again.",
				func(s annotate.Stats) uint64 { return s.Revoked }),
			counter("reconnects_total", "Connections of input and output that came back after they were lost.",
				func(s annotate.Stats) uint64 { return s.Reconnects }),
		},
	}
}

// Describe implements prometheus.Collector.
func (c *channelCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.running
	descs <- c.lag
	descs <- c.latency
	for _, count := range c.counts {
		descs <- count.desc
	}
}

// Collect implements prometheus.Collector.
func (c *channelCollector) Collect(metrics chan<- prometheus.Metric) {
	for _, channel := range c.manager.List() {
		running := 1.0
		if elsewhere := channel.Status.Instance; channel.Status.Stopped || elsewhere != "" && elsewhere != c.instance {
			running = 0
		}
		metrics <- prometheus.MustNewConstMetric(c.running, prometheus.GaugeValue, running, channel.ID)
	}
	for id, stats := range c.manager.Stats() {
		for _, count := range c.counts {
			metrics <- prometheus.MustNewConstMetric(count.desc, prometheus.CounterValue, float64(count.of(stats)), id)
		}
		if stats.HasLag {
			metrics <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, float64(stats.Lag), id)
		}
		metrics <- c.histogram(id, stats.Latency)
	}
}

// histogram is the latency in the cumulative form of Prometheus.
func (c *channelCollector) histogram(id string, l annotate.Latency) prometheus.Metric {
	buckets := make(map[float64]uint64, len(l.Bounds))
	var count uint64
	for i, bound := range l.Bounds {
		count += l.Counts[i]
		buckets[bound.Seconds()] = count
	}
	count += l.Counts[len(l.Bounds)]
	return prometheus.MustNewConstHistogram(c.latency, count, l.Sum.Seconds(), buckets, id)
}
