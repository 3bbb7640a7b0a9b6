package flcollect

import (
	"cmp"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/round"
)

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
