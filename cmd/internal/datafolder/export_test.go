package datafolder

import (
	"context"

	"github.com/iotenablers/enablers/storage/disk"
)

// OpenIn is Open of a version with another format, and a step from the one before.
func OpenIn(
	ctx context.Context, dir, block string, format int, step func(context.Context, *disk.Store) error,
) (*disk.Store, error) {
	return form{format, map[int]func(context.Context, *disk.Store) error{format - 1: step}}.open(ctx, dir, block)
}
