// Package datafolder opens the data folders of the commands. A folder belongs to
// one block, which its file format.json names, so that no other block adds its
// own records to it. The file also has the number of the block's format, so that an
// earlier version does not change records that it cannot read.
package datafolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// The owners of folders. They are a stored format.
const (
	Annotator   = "annotator"
	ModelRepo   = "modelrepo"
	FLCollector = "flcollector"
	APIManager  = "apimanager"
	MultiLink   = "multilink"
	// Enablers owns the folder above those of the blocks.
	Enablers = "enablers"
)

// Unfinished begins the names of entries that a restore has in a folder until everything
// is in place. A folder that has one is refused.
const Unfinished = ".unfinished-"

// Open opens the folder of a block, and creates it if it is missing. A folder of an
// earlier version names no owner. The block becomes its owner, unless the folder holds
// records of another block and none of this one. Records of an earlier format are
// changed into those of the present one.
func Open(ctx context.Context, dir, block string) (*disk.Store, error) {
	return currentForm(block).open(ctx, dir, block)
}

func (f form) open(ctx context.Context, dir, block string) (*disk.Store, error) {
	if err := CheckComplete(dir); err != nil {
		return nil, err
	}
	return disk.Open(ctx, dir, &disk.Options{
		Owner: block, Format: f.format, Migrate: f.migrate,
		Adopt: func(store *disk.Store) error { return adopt(store, block) },
	})
}

// Claim marks the folder above those of the blocks, or one in which a block keeps
// files alone, and creates it if it is missing. A folder of an earlier version that
// has the store of one block is refused, unless it has folders of blocks as well.
func Claim(dir, owner string) error {
	if err := CheckComplete(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "format.json")); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "store.db")); err == nil && !isAboveBlocks(dir) {
			return fmt.Errorf("open folder %q: %w: it holds a store.db, so it is that of one block, and this is %s; give %s a folder of its own",
				dir, disk.ErrOwner, owner, owner)
		}
	}
	return disk.MarkOwner(dir, owner, currentForm(owner).format)
}

// CheckComplete returns an error for a folder in which a restore was cut off. It accepts
// one that is missing.
func CheckComplete(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open folder %q: %w", dir, err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, Unfinished) {
			return fmt.Errorf("open folder %q: it has %q, so it is not complete: a restore was cut off: "+
				"remove everything in the folder and restore again", dir, name)
		}
	}
	return nil
}

// isAboveBlocks reports whether a folder below has the store of a block.
func isAboveBlocks(dir string) bool {
	for _, t := range allTraces() {
		if _, err := os.Stat(filepath.Join(dir, t.block, "store.db")); err == nil {
			return true
		}
	}
	return false
}

// traces are the keys that a block stores: documents, and blobs, that begin so.
type traces struct {
	block            string
	documents, blobs []string
}

func allTraces() []traces {
	return []traces{
		{block: Annotator, documents: []string{"channels/", "annotations/", "claims/", "instances/"}},
		{
			block: ModelRepo,
			documents: []string{
				"root", "namespace/", "model/", "version/", "content/", "condemned/", "webhooks", "intent/", "event/", "lease/", "upload/",
				"damaged/", "scrub",
			},
			blobs: []string{"blob/", "page/", "part/"},
		},
		{block: FLCollector, documents: []string{"collector/", "repository/"}, blobs: []string{"collector/", "repository/"}},
		{block: APIManager, documents: []string{"publisher/", "idp/", "gateway/", "management/"}, blobs: []string{"publisher/"}},
		{block: MultiLink, documents: []string{"node", "client/"}},
	}
}

// adopt refuses a store with records of another block and none of this one.
func adopt(store *disk.Store, block string) error {
	foreign, trace := "", ""
	for _, t := range allTraces() {
		found, err := t.in(store)
		if err != nil {
			return err
		}
		switch {
		case found == "":
		case t.block == block:
			return nil
		default:
			foreign, trace = t.block, found
		}
	}
	if foreign == "" {
		return nil
	}
	return fmt.Errorf("%w: it holds %q, as the folder of %s does, and this is %s; give %s a folder of its own",
		disk.ErrOwner, trace, foreign, block, block)
}

// in returns a key of the block in the store, empty if there is none.
func (t traces) in(store *disk.Store) (key string, err error) {
	ctx := context.Background()
	for _, prefix := range t.documents {
		found, err := store.Documents().List(ctx, prefix, "", 1)
		if err != nil {
			return "", err
		}
		// A trace without a slash at its end is a whole key.
		if len(found) > 0 && (strings.HasSuffix(prefix, "/") || found[0].Key == prefix) {
			return found[0].Key, nil
		}
	}
	for _, prefix := range t.blobs {
		if key, err = firstBlob(ctx, store.Blobs(), prefix); key != "" || err != nil {
			return key, err
		}
	}
	return "", nil
}

func firstBlob(ctx context.Context, blobs storage.Blobs, prefix string) (string, error) {
	for info, err := range blobs.List(ctx, prefix) {
		return info.Key, err
	}
	return "", nil
}
