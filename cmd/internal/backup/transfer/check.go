package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

// checkFolders opens every store below a folder as its server will, and all blobs.
func checkFolders(ctx context.Context, dir, owner string) error {
	folders := backup.Folders(owner)
	stores := 0
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		below := filepath.Join(dir, folder)
		if !backup.Exists(filepath.Join(below, backup.DatabaseName)) {
			if folder == "" || backup.Exists(below) {
				if err := datafolder.Claim(below, folders[folder]); err != nil {
					return err
				}
			}
			continue
		}
		stores++
		if err := checkStore(ctx, below, folders[folder]); err != nil {
			return err
		}
	}
	if stores == 0 {
		return errors.New("it has no " + backup.DatabaseName)
	}
	return nil
}

func checkStore(ctx context.Context, dir, owner string) (err error) {
	store, err := datafolder.Open(ctx, dir, owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for info, err := range store.Blobs().List(ctx, "") {
		if err != nil {
			return err
		}
		blob, err := store.Blobs().Open(ctx, info.Key) // compares the lengths
		if err == nil {
			err = blob.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", owner, err)
		}
	}
	return nil
}
