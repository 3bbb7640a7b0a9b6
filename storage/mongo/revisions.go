package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	revisionCounter = "revision"
	// revisionBlock is how many revisions a store reserves at a time.
	revisionBlock = 1000
	// upsertAttempts is how often a counter is tried that others make at the
	// same time.
	upsertAttempts = 5
)

// revisions returns numbers that are unique in the database: each store
// reserves a block of numbers in one counter that only grows. The rest of a
// block is never used.
type revisions struct {
	counters  *driver.Collection
	turn      chan struct{} // holds one token; its holder may use the fields below
	next, end int64         // the rest of the block, without end
}

func newRevisions(counters *driver.Collection) *revisions {
	r := &revisions{counters: counters, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r
}

// take returns a number above zero that was never returned before.
func (r *revisions) take(ctx context.Context) (int64, error) {
	select {
	case <-r.turn:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { r.turn <- struct{}{} }()
	if r.next == r.end {
		end, err := r.reserve(ctx)
		if err != nil {
			return 0, fmt.Errorf("reserve revisions: %w", err)
		}
		r.next, r.end = end-revisionBlock, end
	}
	taken := r.next + 1
	r.next++
	return taken, nil
}

// reserve advances the counter and returns its new value. After a command whose
// answer is lost, a block stays unused.
func (r *revisions) reserve(ctx context.Context) (int64, error) {
	filter := bson.D{{Key: "_id", Value: revisionCounter}}
	change := bson.D{{Key: "$inc", Value: bson.D{{Key: "last", Value: int64(revisionBlock)}}}}
	opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	for attempt := 1; ; attempt++ {
		var counter struct {
			Last int64 `bson:"last"`
		}
		err := r.counters.FindOneAndUpdate(ctx, filter, change, opts).Decode(&counter)
		if err == nil && counter.Last < revisionBlock {
			return 0, fmt.Errorf("the counter %q is damaged: it is at %d", revisionCounter, counter.Last)
		}
		if !driver.IsDuplicateKeyError(err) || attempt == upsertAttempts {
			return counter.Last, err
		}
	}
}
