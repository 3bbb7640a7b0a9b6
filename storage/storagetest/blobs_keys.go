package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// manyBlobs is more than the drivers read in one step, and not a round number.
const manyBlobs = 555

func blobKeyChecks() []check[storage.Blobs] {
	return []check[storage.Blobs]{
		{
			"invalid blob keys are refused",
			"every method returns ErrInvalidKey for a key or prefix that ValidKey refuses",
			blobsInvalidKeys,
		},
		{
			"blob keys are opaque",
			"every valid key is a key of its own, whatever its characters mean elsewhere",
			blobsOpaqueKeys,
		},
		{
			"long blob keys are kept",
			"keys of up to MaxKeyLength bytes are taken, and two that differ in the last byte are two",
			blobsLongKeys,
		},
		{
			"a listing of blobs is in byte order",
			"List yields blobs in ascending byte order of their keys, whatever the order of commits",
			blobsInOrder,
		},
		{
			"a listing of blobs keeps to its prefix",
			"List yields exactly the blobs whose keys start with the prefix, the one that equals it included",
			blobsByPrefix,
		},
		{"a long listing is complete", "List yields every blob once and in order, however many there are", manyBlobsInOrder},
		{
			"the body of a listing may use the store",
			"the loop over List may delete, create and list, and may end early",
			listingBodyUsesStore,
		},
	}
}

func blobsInvalidKeys(ctx context.Context, blobs storage.Blobs) error {
	for _, key := range invalidKeys() {
		errs := blobCalls(ctx, blobs, key)
		delete(errs, "List")
		if key != "" {
			_, errs["List"] = listed(ctx, blobs, key)
		}
		for call, err := range errs {
			if err := wantError(fmt.Sprintf("%s of the key %.40q", call, key), err, storage.ErrInvalidKey); err != nil {
				return err
			}
		}
	}
	return nil
}

func blobsOpaqueKeys(ctx context.Context, blobs storage.Blobs) error {
	if err := putAll(ctx, blobs, scattered(unlikelyKeys())); err != nil {
		return err
	}
	for _, key := range unlikelyKeys() {
		if err := holds(ctx, blobs, key, generate(key, 40)); err != nil {
			return fmt.Errorf("under %q: %w", key, err)
		}
	}
	for i, key := range unlikelyKeys() {
		if err := noError(fmt.Sprintf("Delete of %q", key), blobs.Delete(ctx, key)); err != nil {
			return err
		}
		if err := listsBlobs(ctx, blobs, "", unlikelyKeys()[i+1:]...); err != nil {
			return fmt.Errorf("after the Delete of %q: %w", key, err)
		}
	}
	return nil
}

func blobsLongKeys(ctx context.Context, blobs storage.Blobs) error {
	longest, err := longestKey(func(key string) error {
		writer, err := blobs.Create(ctx, key)
		if err != nil {
			return err
		}
		defer writer.Abort()
		_, err = writer.Commit(ctx)
		return err
	})
	if err != nil {
		return err
	}
	sibling := longest[:len(longest)-1] + "j"
	if _, err := put(ctx, blobs, sibling, []byte("j")); err != nil {
		return err
	}
	if err := listsBlobs(ctx, blobs, sibling[:len(sibling)-1], sibling, longest); err != nil {
		return err
	}
	return errors.Join(holds(ctx, blobs, sibling, []byte("j")), holds(ctx, blobs, longest, nil))
}

func blobsInOrder(ctx context.Context, blobs storage.Blobs) error {
	if err := putAll(ctx, blobs, scattered(unlikelyKeys())); err != nil {
		return err
	}
	return listsBlobs(ctx, blobs, "", unlikelyKeys()...)
}

func blobsByPrefix(ctx context.Context, blobs storage.Blobs) error {
	if err := putAll(ctx, blobs, unlikelyKeys()); err != nil {
		return err
	}
	for _, prefix := range prefixes() {
		if err := listsBlobs(ctx, blobs, prefix, startingWith(unlikelyKeys(), prefix, "")...); err != nil {
			return err
		}
	}
	return nil
}

func manyBlobsInOrder(ctx context.Context, blobs storage.Blobs) error {
	keys := numbered(manyBlobs)
	mixed := scattered(keys)
	err := together(racers, func(racer int) error {
		for i := racer; i < len(mixed); i += racers {
			if _, err := put(ctx, blobs, mixed[i], []byte(mixed[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	infos, err := listed(ctx, blobs, "")
	if err != nil {
		return noError("List", err)
	}
	for i, info := range infos {
		if i >= len(keys) || info.Key != keys[i] {
			return fmt.Errorf("the call List gave %q at place %d of %d", info.Key, i, len(keys))
		}
		if err := describes("List", info, keys[i], []byte(keys[i])); err != nil {
			return err
		}
	}
	if len(infos) != len(keys) {
		return fmt.Errorf("the call List gave %d of %d blobs", len(infos), len(keys))
	}
	return nil
}

func listingBodyUsesStore(ctx context.Context, blobs storage.Blobs) error {
	keys := numbered(20)
	if err := putAll(ctx, blobs, keys); err != nil {
		return err
	}
	for range blobs.List(ctx, "") {
		break
	}
	var seen []string
	for info, err := range blobs.List(ctx, "numbered/") {
		if err != nil {
			return noError("List", err)
		}
		seen = append(seen, info.Key)
		if _, err := blobs.Stat(ctx, info.Key); err != nil {
			return noError("Stat in the loop", err)
		}
		if err := blobs.Delete(ctx, info.Key); err != nil {
			return noError("Delete in the loop", err)
		}
		if err := listsBlobs(ctx, blobs, "numbered/", keys[len(seen):]...); err != nil {
			return fmt.Errorf("in the loop: %w", err)
		}
		if _, err := put(ctx, blobs, "before/"+info.Key, nil); err != nil {
			return err
		}
	}
	return sameKeys("List", seen, slices.Clone(keys))
}

// putAll commits a blob for each key, several at a time.
func putAll(ctx context.Context, blobs storage.Blobs, keys []string) error {
	return together(racers, func(racer int) error {
		for i := racer; i < len(keys); i += racers {
			if _, err := put(ctx, blobs, keys[i], generate(keys[i], 40)); err != nil {
				return err
			}
		}
		return nil
	})
}
