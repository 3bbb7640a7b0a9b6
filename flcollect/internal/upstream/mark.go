package upstream

import (
	"encoding/base64"
	"maps"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Type is the type of the parameters in which an edge sends a sum of updates: the
// encoded [Summary], and the tensors as strategy.Sum.Encode returns them. It is also the
// name of the metric that holds the Summary of an evaluation.
const Type = "enablers.sum/1"

// JobHeader is the metadata with the id of the job that an edge is for.
const JobHeader = "collector-edge-job"

// Keys in the configuration of instructions.
const (
	typeKey  = "enablers-edge"  // the type of sums that the sender takes
	roundKey = "enablers-round" // the number of the round
)

// Announce returns the metadata with which an edge joins for a job.
func Announce(job string) map[string]string {
	return map[string]string{JobHeader: base64.RawURLEncoding.EncodeToString([]byte(job))}
}

// AnnouncedJob returns the id of the job that a client is an edge for; empty if it is none.
func AnnouncedJob(peer flower.Peer) string {
	if peer.Header == nil {
		return ""
	}
	id, err := base64.RawURLEncoding.DecodeString(peer.Header(JobHeader))
	if err != nil {
		return ""
	}
	return string(id)
}

// Mark returns the configuration of an instruction for an edge.
func Mark(config flower.Config, round int) flower.Config {
	marked := maps.Clone(config)
	if marked == nil {
		marked = flower.Config{}
	}
	marked[typeKey], marked[roundKey] = Type, int64(round)
	return marked
}

// Marked returns the round of an instruction and its configuration without the marks;
// false if the sender does not take sums.
func Marked(config flower.Config) (round int, rest flower.Config, ok bool) {
	number, _ := config[roundKey].(int64)
	if config[typeKey] != Type || number < 1 || number > mostRound {
		return 0, nil, false
	}
	rest = maps.Clone(config)
	delete(rest, typeKey)
	delete(rest, roundKey)
	return int(number), rest, true
}

// mostRound is the greatest number of a round.
const mostRound = 1_000_000
