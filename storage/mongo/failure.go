package mongo

import (
	"context"
	"errors"
	"fmt"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	wire "go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/iotenablers/enablers/storage"
)

// explain translates an error of the driver to one of package storage. The
// context is the caller's, without the limit of the call.
func (s *Store) explain(ctx context.Context, err error) error {
	switch {
	case known(err):
		return err
	case isFull(err):
		return fmt.Errorf("%w: MongoDB at %s: %w", storage.ErrFull, s.hosts, err)
	case errors.Is(err, driver.ErrClientDisconnected):
		return storage.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case unreachable(err) || driver.IsNetworkError(err) || driver.IsTimeout(err):
		return fmt.Errorf("%w: MongoDB at %s: %w", storage.ErrUnavailable, s.hosts, err)
	}
	return err
}

// isFull reports whether the server has no disk space left.
func isFull(err error) bool {
	const outOfDiskSpace = 14031
	var answer driver.ServerError
	return errors.As(err, &answer) && answer.HasErrorCode(outOfDiskSpace)
}

// known reports whether the error is already one of package storage.
func known(err error) bool {
	for _, name := range []error{storage.ErrNotFound, storage.ErrExists, storage.ErrConflict, storage.ErrClosed} {
		if errors.Is(err, name) {
			return true
		}
	}
	return false
}

// unreachable reports whether no server was found to send the command to, or no
// connection to it, so that the command was not executed. When a server is
// lost, the connection of the first call breaks, and the other calls find no
// connection.
func unreachable(err error) bool {
	return errors.As(err, new(topology.ServerSelectionError)) || errors.As(err, new(wire.RetryablePoolError))
}

// failed puts the verb and the key before the cause. The precision keeps every
// valid key whole and bounds the length of an invalid one in logs.
func failed(verb, key string, cause error) error {
	return fmt.Errorf("%s %.*q: %w", verb, storage.MaxKeyLength, key, cause)
}
