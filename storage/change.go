package storage

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/internal/retry"
)

// Overtaken reports whether an Update, Delete or Create changed nothing because another writer was
// faster: the error matches [ErrConflict], [ErrNotFound] or [ErrExists].
func Overtaken(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrExists)
}

// Retry calls attempt until it reports that no further attempt is needed, and returns its error. The
// first three attempts follow each other directly. Then there are pauses with random parts, which grow from a
// millisecond to a tenth of a second. Only the end of the context limits the number of attempts; Retry
// then returns the context's error.
//
// An attempt that loses a race reads again what it decides by. [Change] and [Remove] do that for one document.
func Retry(ctx context.Context, attempt func() (again bool, err error)) error {
	const direct = 3
	pauses := retry.Backoff{Least: time.Millisecond, Most: 100 * time.Millisecond}
	for n := 1; ; n++ {
		again, err := attempt()
		if !again {
			return err
		}
		if n >= direct {
			_ = pauses.Wait(ctx) // the context is checked below
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Change changes a document by compare-and-set, and returns it as it is afterwards.
//
// The function gets the stored document; where there is none, its Revision is 0 and its Data nil. Change stores
// the data that the function returns, and leaves the document as it is when the data is nil. An error of
// the function ends Change and is returned as it is. When another writer has changed the document in the
// meantime, Change reads it again and calls the function again: the last call counts, so each call sets
// all results that the caller uses. [Retry] describes the pauses and how the context ends the attempts.
//
// After an error of the store, such as [ErrUnavailable], the outcome can be unknown.
func Change(
	ctx context.Context, documents Documents, key string, change func(found Document) (data []byte, err error),
) (Document, error) {
	var found Document
	err := Retry(ctx, func() (bool, error) {
		var err error
		found, err = documents.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			found, err = Document{Key: key}, nil
		}
		if err != nil {
			return false, err
		}
		data, err := change(found)
		if err != nil || data == nil {
			return false, err
		}
		revision := found.Revision
		if revision == 0 {
			revision, err = documents.Create(ctx, key, data)
		} else {
			revision, err = documents.Update(ctx, key, revision, data)
		}
		if err != nil {
			return Overtaken(err), err
		}
		found = Document{Key: key, Revision: revision, Data: data}
		return false, nil
	})
	return found, err
}

// Remove deletes a document by compare-and-set. The function gets the stored document and reports whether it
// is to be deleted; nil deletes every document. An error of the function ends Remove and is returned
// as it is. When another writer has changed the document in the meantime, Remove reads it again and calls the
// function again. Without a document, the function is not called and the error matches [ErrNotFound]. [Retry]
// describes the pauses and how the context ends the attempts.
func Remove(
	ctx context.Context, documents Documents, key string, check func(found Document) (remove bool, err error),
) error {
	return Retry(ctx, func() (bool, error) {
		found, err := documents.Get(ctx, key)
		if err != nil {
			return false, err
		}
		if check != nil {
			if remove, err := check(found); err != nil || !remove {
				return false, err
			}
		}
		err = documents.Delete(ctx, key, found.Revision)
		return Overtaken(err), err
	})
}
