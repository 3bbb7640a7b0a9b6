package storagetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/storage"
)

func blobRaceChecks() []check[storage.Blobs] {
	return []check[storage.Blobs]{
		{
			"concurrent writers leave one whole blob",
			"of concurrent writers on one key one stays whole, and every reader meanwhile gets a whole blob whose bytes " +
				"match its digests",
			concurrentWriters,
		},
		{
			"a reader beside deletes sees all or nothing",
			"while a key is deleted and committed again, Open gives a whole blob or ErrNotFound",
			readersBesideDeletes,
		},
		{
			"a listing of blobs during writes shows what stays",
			"a blob that is there throughout is seen exactly once, in order, while others come and go",
			listBlobsDuringWrites,
		},
	}
}

func concurrentWriters(ctx context.Context, blobs storage.Blobs) error {
	if _, err := put(ctx, blobs, "blob", generate("first", 1000)); err != nil {
		return err
	}
	const rounds = 5
	err := together(2*racers, func(racer int) error {
		for round := range rounds {
			if racer%2 == 1 {
				if err := readWhole(ctx, blobs, "blob"); err != nil {
					return err
				}
				continue
			}
			content := generate(fmt.Sprint(racer, round), 1000+10_000*racer+round)
			info, err := put(ctx, blobs, "blob", content)
			if err != nil {
				return err
			}
			if err := describes("Commit", info, "blob", content); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, readWhole(ctx, blobs, "blob"))
}

func readersBesideDeletes(ctx context.Context, blobs storage.Blobs) error {
	const rounds = 20
	done := make(chan struct{})
	return together(racers, func(racer int) error {
		if racer == 0 {
			defer close(done)
			for round := range rounds {
				if _, err := put(ctx, blobs, "blob", generate(fmt.Sprint(round), 20_000)); err != nil {
					return err
				}
				if err := blobs.Delete(ctx, "blob"); err != nil {
					return noError("Delete", err)
				}
			}
			return nil
		}
		for last := false; ; {
			if err := readWhole(ctx, blobs, "blob"); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			if last {
				return nil
			}
			select {
			case <-done:
				last = true // once more, after it is removed
			default:
			}
		}
	})
}

// readWhole reads a blob and compares its bytes with its own description.
func readWhole(ctx context.Context, blobs storage.Blobs, key string) error {
	reader, err := blobs.Open(ctx, key)
	if err != nil {
		return noError("Open", err)
	}
	defer reader.Close()
	digest := sha256.New()
	size, err := io.Copy(digest, reader)
	if err != nil {
		return noError("Read", err)
	}
	if info, got := reader.Info(), hex.EncodeToString(digest.Sum(nil)); info.SHA256 != got || info.Size != size {
		return fmt.Errorf("a reader gave %d bytes with the digest %s, its Info says %d and %s", size, got, info.Size,
			info.SHA256)
	}
	return nil
}

func listBlobsDuringWrites(ctx context.Context, blobs storage.Blobs) error {
	stable := numbered(300)
	if err := putAll(ctx, blobs, scattered(stable)); err != nil {
		return err
	}
	comeAndGo := func(key string) error {
		if _, err := put(ctx, blobs, key, nil); err != nil {
			return err
		}
		return noError("Delete", blobs.Delete(ctx, key))
	}
	return whileOthersComeAndGo(stable, comeAndGo, func(disturb func() error) error {
		return listStableBlobs(ctx, blobs, stable, disturb)
	})
}

func listStableBlobs(ctx context.Context, blobs storage.Blobs, stable []string, disturb func() error) error {
	var seen []string
	last := ""
	for info, err := range blobs.List(ctx, "numbered/") {
		if err != nil {
			return noError("List", err)
		}
		if info.Key <= last {
			return fmt.Errorf("the call List gave %q behind %q", info.Key, last)
		}
		last = info.Key
		if len(info.Key) == len(stable[0]) {
			seen = append(seen, info.Key)
		}
		if len(seen)%50 == 0 {
			if err := disturb(); err != nil {
				return err
			}
		}
	}
	return sameKeys("a listing during writes", seen, stable)
}
