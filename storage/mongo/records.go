package mongo

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/storage"
)

// record is one document of a collection: a body at a revision. The revision is
// unique to the write that stored it, so a writer whose answer was lost
// recognises its write by it, and by Previous also after the next write.
type record[B any] struct {
	Key      string `bson:"_id"`
	Revision int64  `bson:"rev"`
	Previous int64  `bson:"prev"`
	Body     B      `bson:",inline"`
}

// holds reports whether the write with the revision happened, as far as the
// record can tell.
func (r *record[B]) holds(revision int64) bool {
	return r.Revision == revision || r.Previous == revision
}

// records keeps bodies under keys, by compare-and-set of single documents.
type records[B any] struct {
	collection *driver.Collection
	revisions  *revisions
}

// get returns a record, or storage.ErrNotFound.
func (r *records[B]) get(ctx context.Context, key string) (record[B], error) {
	var found record[B]
	err := r.collection.FindOne(ctx, bson.D{{Key: "_id", Value: key}}).Decode(&found)
	if errors.Is(err, driver.ErrNoDocuments) {
		err = storage.ErrNotFound
	}
	return found, err
}

// create stores a body under a free key, or returns storage.ErrExists.
//
// A replica set retries an insert by itself and answers for the first attempt.
// Otherwise it is not repeated: the first could still arrive after a delete.
func (r *records[B]) create(ctx context.Context, key string, body B) (int64, error) {
	revision, err := r.revisions.take(ctx)
	if err != nil {
		return 0, err
	}
	_, err = r.collection.InsertOne(ctx, record[B]{Key: key, Revision: revision, Body: body})
	if err == nil {
		return revision, nil
	}
	if !unreachable(err) && ctx.Err() == nil {
		if found, lookErr := r.get(ctx, key); lookErr == nil && found.holds(revision) {
			return revision, nil
		}
	}
	if driver.IsDuplicateKeyError(err) {
		err = storage.ErrExists
	}
	return 0, err
}

// replace stores a body in place of the one at revision prev, or returns
// storage.ErrConflict or storage.ErrNotFound. When the answer is lost it looks
// whether it happened, and repeats it once if it did not.
func (r *records[B]) replace(ctx context.Context, key string, prev int64, body B) (int64, error) {
	revision, err := r.revisions.take(ctx)
	if err != nil {
		return 0, err
	}
	next := record[B]{Key: key, Revision: revision, Previous: prev, Body: body}
	var lost error // of the first attempt
	for {
		result, err := r.collection.ReplaceOne(ctx, at(key, prev), next)
		if err == nil && result.MatchedCount == 1 {
			return revision, nil
		}
		if err != nil && (unreachable(err) || ctx.Err() != nil) {
			return 0, errors.Join(lost, err)
		}
		found, lookErr := r.get(ctx, key)
		switch {
		case lookErr == nil && found.holds(revision):
			return revision, nil
		case err == nil && lost != nil:
			// The first attempt may have succeeded, and its record may be replaced or
			// deleted since.
			return 0, fmt.Errorf("whether it happened is not known: %w", lost)
		case err == nil && lookErr == nil:
			return 0, storage.ErrConflict
		case err == nil:
			return 0, lookErr // storage.ErrNotFound among others
		case lost != nil || lookErr != nil || found.Revision != prev:
			return 0, errors.Join(lost, err)
		}
		lost = err
	}
}

// remove deletes the record at revision prev, or returns storage.ErrConflict
// or storage.ErrNotFound.
func (r *records[B]) remove(ctx context.Context, key string, prev int64) error {
	result, err := r.collection.DeleteOne(ctx, at(key, prev))
	if err != nil {
		return err
	}
	if result.DeletedCount == 1 {
		return nil
	}
	if _, err := r.get(ctx, key); err != nil {
		return err
	}
	return storage.ErrConflict
}

// page returns up to limit records, by key, whose keys start with prefix and
// are greater than after, and that match the further conditions.
func (r *records[B]) page(ctx context.Context, prefix, after string, limit int,
	further ...bson.E) ([]record[B], error) {
	opts := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit))
	cursor, err := r.collection.Find(ctx, append(keys(prefix, after), further...), opts)
	if err != nil {
		return nil, err
	}
	var page []record[B]
	err = cursor.All(ctx, &page) // closes the cursor
	return page, err
}

// at returns the filter of a record at a revision.
func at(key string, revision int64) bson.D {
	return bson.D{{Key: "_id", Value: key}, {Key: "rev", Value: revision}}
}

// keys is the filter of the keys that start with prefix and are greater than
// after. MongoDB compares strings by their bytes, in the simple collation that
// the collections have.
func keys(prefix, after string) bson.D {
	var bounds bson.D
	switch {
	case after >= prefix && after != "":
		bounds = append(bounds, bson.E{Key: "$gt", Value: after})
	case prefix != "":
		bounds = append(bounds, bson.E{Key: "$gte", Value: prefix})
	}
	if end := behind(prefix); end != "" {
		bounds = append(bounds, bson.E{Key: "$lt", Value: end})
	}
	if bounds == nil {
		return bson.D{}
	}
	return bson.D{{Key: "_id", Value: bounds}}
}

// behind returns the first string behind all that start with prefix, or an
// empty one if there is none. In UTF-8 the order of bytes is that of the code
// points.
func behind(prefix string) string {
	for prefix != "" {
		last, width := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-width]
		switch {
		case last == utf8.MaxRune:
			continue // no rune is behind it
		case last+1 == firstSurrogate:
			return prefix + string(rune(lastSurrogate+1))
		}
		return prefix + string(last+1)
	}
	return ""
}

// The code points that UTF-8 leaves out.
const (
	firstSurrogate = 0xd800
	lastSurrogate  = 0xdfff
)
