package storage

import "context"

// Space returns nil if a store has space for writes, as far as its driver knows, and
// otherwise an error that matches [ErrFull]. Servers call it to find out whether they
// are ready.
//
// A driver that knows has the method Space(context.Context) error, and returns nil again as soon as
// there is space, whether or not anything is written meanwhile. Stores of other drivers always have space.
func Space(ctx context.Context, docs Documents) error {
	if driver, ok := docs.(interface{ Space(context.Context) error }); ok {
		return driver.Space(ctx)
	}
	return nil
}

// Space passes the question on, see the function.
func (p *prefixedDocuments) Space(ctx context.Context) error { return Space(ctx, p.docs) }
