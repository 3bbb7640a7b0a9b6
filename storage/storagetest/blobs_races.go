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
		{"concurrent writers leave one whole blob", "of concurrent writers on one key one stays whole, and every reader meanwhile gets a whole blob whose bytes match its digests", concurrentWriters},
		{"a reader beside deletes sees all or nothing", "while a key is deleted and committed again, Open gives a whole blob or ErrNotFound", readersBesideDeletes},
		{"a listing of blobs during writes shows what stays", "a blob that is there throughout is seen exactly once, in order, while others come and go", listBlobsDuringWrites},
	}
}

func concurrentWriters(ctx context.Context, blobs storage.Blobs) error {
	if _, err := put(ctx, blobs, "blob", contentOf("first", 1000)); err != nil {
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
			content := contentOf(fmt.Sprint(racer, round), 1000+70_000*racer+round)
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
	const rounds = 30
	return together(racers, func(racer int) error {
		for round := range rounds {
			var err error
			switch racer {
			case 0:
				_, err = put(ctx, blobs, "blob", contentOf(fmt.Sprint(round), 100_000))
			case 1:
				err = blobs.Delete(ctx, "blob")
			default:
				err = readWhole(ctx, blobs, "blob")
			}
			if err != nil && (racer == 0 || !errors.Is(err, storage.ErrNotFound)) {
				return err
			}
		}
		return nil
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
		return fmt.Errorf("a reader gave %d bytes with the digest %s, its Info says %d and %s", size, got, info.Size, info.SHA256)
	}
	return nil
}

func listBlobsDuringWrites(ctx context.Context, blobs storage.Blobs) error {
	stable := numbered(300)
	if err := putAll(ctx, blobs, scattered(stable)); err != nil {
		return err
	}
	stop := make(chan struct{})
	passing := make(chan error, 1)
	go func() { passing <- blobsComeAndGo(ctx, blobs, stable, stop) }()
	err := listBlobsRepeatedly(ctx, blobs, stable)
	close(stop)
	return errors.Join(err, <-passing)
}

// blobsComeAndGo commits and deletes blobs between the stable ones.
func blobsComeAndGo(ctx context.Context, blobs storage.Blobs, stable []string, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		key := stable[(i*13)%len(stable)] + "/passing"
		if _, err := put(ctx, blobs, key, nil); err != nil {
			return err
		}
		if err := blobs.Delete(ctx, key); err != nil {
			return noError("Delete", err)
		}
	}
}

func listBlobsRepeatedly(ctx context.Context, blobs storage.Blobs, stable []string) error {
	for range 10 {
		var seen []string
		last := ""
		for info, err := range blobs.List(ctx, "numbered/") {
			if err != nil {
				return noError("List", err)
			}
			if info.Key <= last {
				return fmt.Errorf("List gave %q behind %q", info.Key, last)
			}
			last = info.Key
			if len(info.Key) == len(stable[0]) {
				seen = append(seen, info.Key)
			}
		}
		if err := sameKeys("a listing during writes", seen, stable); err != nil {
			return err
		}
	}
	return nil
}
