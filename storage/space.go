package storage

import "context"

// Space returns nil if a store has space for writes, as far as its driver knows, and
// otherwise an error that matches [ErrFull]. The store is a [Documents] or a [Blobs].
// Servers call it, for each of their stores, to find out whether they are ready.
//
// A driver that knows has the method Space(context.Context) error, and returns nil again as soon as
// there is space, whether or not anything is written meanwhile. Stores of other drivers always have space.
func Space(ctx context.Context, store any) error {
	if driver, ok := store.(interface{ Space(context.Context) error }); ok {
		return driver.Space(ctx)
	}
	return nil
}

// Space passes the question on, see the function.
func (p *prefixedDocuments) Space(ctx context.Context) error { return Space(ctx, p.docs) }

// Space passes the question on, see the function.
func (p *prefixedBlobs) Space(ctx context.Context) error { return Space(ctx, p.blobs) }
