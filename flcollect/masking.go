package flcollect

import (
	"cmp"
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	records "github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// masker is the place of a SuperNode in the run of a job. Unlike a stream of start_client it
// can take part in secure aggregation: it is a [round.Exchanger].
type masker struct{ *supernode.Member }

// Node returns the number of the SuperNode, by which the others know it.
func (m masker) Node() uint64 { return m.Member.Node().ID() }

// Exchange implements [round.Exchanger].
func (m masker) Exchange(ctx context.Context, messageType string, content records.Dict) (records.Dict, func(), error) {
	reply, err := m.Member.Exchange(ctx, messageType, content)
	if err != nil {
		return nil, nil, err
	}
	return reply.Content, reply.Release, nil
}

// maskingNote says how many of the connected clients cannot take part in the secure
// aggregation of a job that has not ended; empty if all can, and without it.
func (j *job) maskingNote(status Status, needed int) string {
	if status.Config.SecAgg == nil || status.State.Ended() {
		return ""
	}
	unable := 0
	clients := j.pool.All()
	for _, c := range clients {
		if !round.Masks(c) {
			unable++
		}
	}
	if unable == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d clients take no part in the secure aggregation, for which a SuperNode with secaggplus_mod is needed: "+
		"start_client has no part in it", unable, len(clients))
	if able := len(clients) - unable; able < needed {
		text += fmt.Sprintf("; the job waits for %d more SuperNodes", needed-able)
	}
	return text
}

// joinNotes returns both notes, of which each may be empty.
func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + "; " + b
}
