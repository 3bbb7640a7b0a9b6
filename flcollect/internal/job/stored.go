package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// Find returns the stored record of a job, or an error that matches [storage.ErrNotFound].
func Find(ctx context.Context, documents storage.Documents, id string) (Record, error) {
	doc, err := documents.Get(ctx, Key(id))
	if err != nil {
		return Record{}, err
	}
	return ReadRecord(id, doc.Data)
}

// Rounds returns up to limit finished rounds of the run of a record, from the one after a number.
func Rounds(ctx context.Context, documents storage.Documents, r Record, after, limit int) ([]report.Round, error) {
	if after >= r.Round {
		return nil, nil // what is stored after it does not count yet
	}
	docs, err := documents.List(ctx, roundFolder(r.Token), RoundKey(r.Token, max(after, 0)), limit)
	if err != nil {
		return nil, err
	}
	var rounds []report.Round
	for _, doc := range docs {
		var round report.Round
		if err := json.Unmarshal(doc.Data, &round); err != nil {
			return nil, fmt.Errorf("read %q: %w: %w", doc.Key, persist.ErrDamaged, err)
		}
		if round.Number > r.Round {
			break // the round is being stored, and does not count yet
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// runPrefix is that of the records of earlier runs.
const runPrefix = "run/"

// maxRuns is how many runs of a job are kept besides its last one.
const maxRuns = 1000

// RunFolder is that of the earlier runs of a job. It has a hash in place of the id, which may
// have slashes.
func RunFolder(id string) string {
	sum := sha256.Sum256([]byte(id))
	return runPrefix + hex.EncodeToString(sum[:]) + "/"
}

// RunKey orders the runs of a job from the last one.
func RunKey(id string, run int64) string {
	return fmt.Sprintf("%s%016x", RunFolder(id), math.MaxInt64-run)
}

// KeepRun keeps the record of a run that another one follows, as it is stored.
func KeepRun(ctx context.Context, store persist.Store, last Record, data []byte) error {
	if err := store.Put(ctx, RunKey(last.ID, last.Run), data); err != nil {
		return err
	}
	if last.Run <= maxRuns {
		return nil
	}
	return store.DeleteDocuments(ctx, RunKey(last.ID, last.Run-maxRuns))
}

// noteRun notes in the record of an earlier run what became of its result. Runs that began
// before records of runs were kept have none.
func (j *Job) noteRun(ctx context.Context, run int64, state Delivery, complaint error) error {
	if run == 0 {
		return nil
	}
	err := j.storage.Insist(ctx, func() error {
		doc, err := j.storage.Documents.Get(ctx, RunKey(j.id, run))
		if err != nil {
			return err
		}
		r, err := ReadRecord(j.id, doc.Data)
		if err != nil {
			return err
		}
		r.Delivery = state
		r.complain(complaint, "store the result")
		data, err := r.Marshal()
		if err != nil {
			return err
		}
		return j.storage.Put(ctx, RunKey(j.id, run), data)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// drop deletes a checkpoint that no record names any more. [Server.Run] deletes it after
// the next start if this fails.
func (j *Job) drop(c *checkpoint.Ref) {
	if err := j.storage.DeleteBlob(j.during(phaseSaving), c.Key); err != nil && j.during(phaseSaving).Err() == nil {
		j.log.Warn("an old model cannot be deleted yet", "error", err)
	}
}
