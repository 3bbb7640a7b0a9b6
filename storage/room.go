package storage

import "context"

// Room returns nil if a store has room for writes, as far as its driver knows, and
// otherwise an error that matches [ErrFull]. Servers call it to find out whether they
// are ready.
//
// A driver that knows has the method Room(context.Context) error, and returns nil again as soon as
// there is room, whether or not anything is written meanwhile. Stores of other drivers always have room.
func Room(ctx context.Context, docs Documents) error {
	if driver, ok := docs.(interface{ Room(context.Context) error }); ok {
		return driver.Room(ctx)
	}
	return nil
}

// Room passes the question on, see the function.
func (p *prefixedDocuments) Room(ctx context.Context) error { return Room(ctx, p.docs) }
