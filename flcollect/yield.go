package flcollect

import (
	"context"
	"errors"
	"fmt"
)

// errFruitless is matched by the error of a training that ends as its model began.
var errFruitless = errors.New("no round has aggregated an update, so there is no result")

// aggregated reports whether a round of the run has changed the model. Records that
// do not count such rounds yet leave that to the rounds themselves; where one cannot
// be read, nothing speaks against it.
func (j *job) aggregated(ctx context.Context) (bool, error) {
	r := j.record()
	if r.Aggregated > 0 {
		return true, nil
	}
	for after := 0; ; {
		var rounds []Round
		err := j.server.insist(ctx, j.id, func() (err error) {
			rounds, err = j.server.Rounds(ctx, j.id, after, 0)
			return err
		})
		if errors.Is(err, errDamaged) {
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

// yielded returns nil if a training that has ended has a result, and otherwise an
// error that matches errFruitless and says what became of its last round.
func (j *job) yielded(ctx context.Context) error {
	changed, err := j.aggregated(ctx)
	if err != nil || changed {
		return err
	}
	r := j.record()
	if r.IdleRound == 0 {
		return errFruitless
	}
	return fmt.Errorf("%w: the last of %d rounds says: %s", errFruitless, r.Idle, r.IdleNote)
}
