package main

import (
	"path/filepath"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// contender is a program that is measured.
type contender struct {
	name   string
	how    string
	format *rdf.Format // of what it makes; nil for a passthrough
	ours   subject     // the process, unless java is set
	java   func(s site) []string
	slow   bool // it gets fewer messages
}

// site is where a contender finds what it needs.
type site struct {
	address, in, out, name string
	mapping                string // file
	peers                  string // folder with the classes and jars of the peers
}

const (
	outputBytes = workload.OutputSize
	threads     = "2" // of the peers, the annotator's default
)

func format(f rdf.Format) *rdf.Format { return &f }

func mqttContenders() []contender {
	return []contender{
		{name: "passthrough", how: "Subscription and Publisher of `annotate/mqtt`, nothing between: receive, " +
			"publish, acknowledge when confirmed", ours: subject{Kind: "passthrough"}},
		{name: "passthrough, padded", how: "the same, its outputs as large as the annotator's N-Triples",
			ours: subject{Kind: "passthrough", Pad: outputBytes}},
		{name: "annotator, N-Triples", how: "`annotate.Channel`, all settings default (parallelism 2, buffers of " +
			"10)", format: format(rdf.NTriples), ours: subject{Kind: "annotator", Format: annotate.NTriples}},
		{name: "annotator, Turtle", how: "the same", format: format(rdf.Turtle), ours: subject{Kind: "annotator", Format: annotate.Turtle}},
		{name: "HiveMQ client + CARML", how: "Java: MQTT 5 with manual acknowledgement, two mapper threads, " +
			"outputs in order of arrival, at most 256 in flight", format: format(rdf.NTriples), slow: true,
			java: func(s site) []string {
				return append(s.class("MqttCarml"), s.address, s.in, s.out, s.mapping, threads, s.name)
			}},
	}
}

func kafkaContenders() []contender {
	return []contender{
		{name: "sarama, padded", how: "sarama's consumer group and producer (idempotent, one request at a time), " +
			"outputs as large as the annotator's", ours: subject{Kind: "sarama", Pad: outputBytes}},
		{name: "passthrough", how: "Subscription and Publisher of `annotate/kafka`, nothing between",
			ours: subject{Kind: "passthrough"}},
		{name: "passthrough, padded", how: "the same, its outputs as large as the annotator's",
			ours: subject{Kind: "passthrough", Pad: outputBytes}},
		{name: "annotator, at least once", how: "`annotate.Channel`, all settings default, N-Triples",
			format: format(rdf.NTriples), ours: subject{Kind: "annotator", Format: annotate.NTriples}},
		{name: "annotator, exactly once", how: "the same with `exactlyOnce`", format: format(rdf.NTriples),
			ours: subject{Kind: "annotator", Format: annotate.NTriples, Exactly: true}},
		{name: "Kafka Streams + CARML", how: "Java: two stream threads, at_least_once",
			format: format(rdf.NTriples), slow: true,
			java: func(s site) []string {
				return append(s.class("KafkaCarml"), s.address, s.in, s.out, s.mapping, threads, s.name, "at_least_once")
			}},
		{name: "Kafka Streams + CARML, exactly once", how: "Java: the same with exactly_once_v2",
			format: format(rdf.NTriples), slow: true,
			java: func(s site) []string {
				return append(s.class("KafkaCarml"), s.address, s.in, s.out, s.mapping, threads, s.name, "exactly_once_v2")
			}},
	}
}

// class returns the command that runs a class of the peers.
func (s site) class(name string) []string {
	return []string{"java", "-Xmx2g", "-cp", s.peers + string(filepath.ListSeparator) +
		filepath.Join(s.peers, "lib", "*"), name}
}

// command returns the command that runs the contender.
func (c contender) command(self string, s site, kind annotate.BrokerType) []string {
	if c.java != nil {
		return c.java(s)
	}
	ours := c.ours
	ours.Broker, ours.Address, ours.In, ours.Out, ours.Name = kind, s.address, s.in, s.out, s.name
	return append([]string{self}, ours.args()...)
}
