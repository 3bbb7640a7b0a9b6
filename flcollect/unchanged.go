package flcollect

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
)

// errUnchanged is matched by the error of a training whose rounds have left the initial
// model as it was.
var errUnchanged = errors.New("no round has aggregated an update, so there is no result")

// hasAggregated reports whether a round of the run has changed the model. Records from
// before such rounds were counted leave that to the rounds themselves; where one cannot
// be read, it counts as one that has.
func (j *job) hasAggregated(ctx context.Context) (bool, error) {
	r := j.record()
	if r.Aggregated > 0 {
		return true, nil
	}
	for after := 0; ; {
		var rounds []Round
		err := j.storage.Insist(ctx, func() (err error) {
			rounds, err = j.server.Rounds(ctx, j.id, after, 0)
			return err
		})
		if errors.Is(err, persist.ErrDamaged) {
			return true, nil
		}
		if err != nil || len(rounds) == 0 {
			return false, err
		}
		for _, round := range rounds {
			if round.Aggregated {
				return true, nil
			}
		}
		after = rounds[len(rounds)-1].Number
	}
}

// checkChanged returns nil if a training that has ended has a result, and otherwise an
// error that matches errUnchanged and has the note of its last round.
func (j *job) checkChanged(ctx context.Context) error {
	changed, err := j.hasAggregated(ctx)
	if err != nil || changed {
		return err
	}
	r := j.record()
	if r.IdleRound == 0 {
		return errUnchanged
	}
	return fmt.Errorf("%w: the last of %d rounds says: %s", errUnchanged, r.Idle, r.IdleNote)
}
