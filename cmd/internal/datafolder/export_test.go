package datafolder

import (
	"context"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// OpenIn is Open of a version with another format, and a step from the one before.
func OpenIn(
	ctx context.Context, dir, block string, format int, step func(context.Context, *disk.Store) error,
) (*disk.Store, error) {
	return form{format, map[int]func(context.Context, *disk.Store) error{format - 1: step}}.open(ctx, dir, block)
}

// MarkWith is Mark of a version in which the block has another key as well.
func MarkWith(ctx context.Context, documents storage.Documents, block, key string) error {
	known := allTraces()
	for i := range known {
		if known[i].block == block {
			known[i].documents = append(known[i].documents, key)
		}
	}
	return markAmong(ctx, documents, block, known)
}
