package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/storage"
)

// Collected counts what [Store.Collect] did.
type Collected struct {
	// Contents are contents that nothing refers to and that can no longer be shared,
	// and Bytes is their size.
	Contents int
	Bytes    int64
	// Blobs are the blobs that were deleted: those of such contents, of crashed
	// uploads, and of uploads whose bytes another blob has.
	Blobs int
}

// Collect removes content that nothing refers to, in three rounds of one call each: the
// content is marked; after the grace period the document of its digest is deleted and
// its blob condemned; then the blob is deleted. The blobs of crashed uploads are
// condemned when they are older than the grace period. Uploads, deletions and other
// collections may run meanwhile, also in other processes. A round reads every version
// once, and needs about 300 bytes of memory for each different content.
func (s *Store) Collect(ctx context.Context) (Collected, error) {
	var done Collected
	err := s.contents.collector.collect(ctx, &done)
	s.contents.stats.collectedBlobs.Add(uint64(done.Blobs))
	if err != nil {
		return done, fmt.Errorf("collect: %w", err)
	}
	return done, nil
}

// collector removes content that nothing refers to.
type collector struct {
	docs    storage.Documents
	blobs   storage.Blobs
	checker *integrity.Checker
	grace   time.Duration
}

// The order of the reads makes collection safe.
//
// A digest's document may be deleted at the revision that was read if no version that
// was read afterwards refers to it: an upload that shares its blob later has changed
// the document, and one that shared it earlier is in its version.
//
// A blob may be deleted if it was condemned before any of the reads, no digest names it
// and no version refers to it. An upload that would share it later finds it condemned,
// and uses its own blob. The upload that wrote it cannot finish, because its ticket is
// gone.
func (c *collector) collect(ctx context.Context, done *Collected) error {
	condemned, err := c.condemned(ctx)
	if err != nil {
		return err
	}
	marks, err := c.checker.Marks(ctx)
	if err != nil {
		return err
	}
	damaged := make(map[string]integrity.Mark, len(marks))
	for _, m := range marks {
		damaged[m.Blob] = m
	}
	contents, err := c.contents(ctx)
	if err != nil {
		return err
	}
	strays, err := c.unnamed(ctx, contents)
	if err != nil {
		return err
	}
	if err := c.references(ctx, contents, strays, damaged); err != nil {
		return err
	}
	if err := c.checker.Prune(ctx, damaged); err != nil {
		return err
	}
	for key, found := range contents {
		if err := c.release(ctx, key, found, done); err != nil {
			return err
		}
	}
	for blob := range strays {
		if err := c.clear(ctx, blob, condemned, done); err != nil {
			return err
		}
		delete(condemned, condemnedKey(blob))
	}
	for key, revision := range condemned { // deleted already, or in use
		if err := c.docs.Delete(ctx, key, revision); err != nil && !storage.Overtaken(err) {
			return err
		}
	}
	return nil
}

// condemnedKey returns the key of the document that condemns a blob.
func condemnedKey(blob string) string { return condemnedPrefix + blob[len(blobPrefix):] }

// condemned returns the keys of the documents that condemn blobs.
func (c *collector) condemned(ctx context.Context) (map[string]storage.Revision, error) {
	condemned := map[string]storage.Revision{}
	for doc, err := range storage.All(ctx, c.docs, condemnedPrefix) {
		if err != nil {
			return nil, err
		}
		condemned[doc.Key] = doc.Revision
	}
	return condemned, nil
}

// storedDigest is a digest's document as it was read.
type storedDigest struct {
	digest
	revision storage.Revision
}

// contents returns the digests' documents by key.
func (c *collector) contents(ctx context.Context) (map[string]storedDigest, error) {
	contents := map[string]storedDigest{}
	for doc, err := range storage.All(ctx, c.docs, contentPrefix) {
		if err != nil {
			return nil, err
		}
		d, err := decodeDigest(doc)
		if err != nil {
			return nil, err
		}
		contents[doc.Key] = storedDigest{d, doc.Revision}
	}
	return contents, nil
}

// unnamed returns the blobs older than the grace period that no digest's document
// names, with the keys of the documents of their digests.
func (c *collector) unnamed(ctx context.Context, contents map[string]storedDigest) (map[string]string, error) {
	strays := map[string]string{}
	for info, err := range c.blobs.List(ctx, blobPrefix) {
		if err != nil {
			return nil, err
		}
		digestKey := contentPrefix + info.SHA256
		if contents[digestKey].Blob != info.Key && clock.Passed(info.Modified, c.grace) {
			strays[info.Key] = digestKey
		}
	}
	return strays, nil
}

// references removes from the maps what versions refer to: by the blob, and by the
// digest where an upload is about to share a blob. The marks of damaged content are by blob.
func (c *collector) references(
	ctx context.Context, contents map[string]storedDigest, strays map[string]string, damaged map[string]integrity.Mark,
) error {
	byBlob := make(map[string]string, len(contents))
	for key, found := range contents {
		byBlob[found.Blob] = key
	}
	shared := map[string]bool{}
	keep := func(blob, sha256 string) {
		delete(contents, byBlob[blob])
		delete(contents, contentPrefix+sha256)
		delete(strays, blob)
		delete(damaged, blob)
	}
	for doc, err := range storage.All(ctx, c.docs, versionPrefix) {
		if err != nil {
			return err
		}
		n, err := peekNode(doc)
		if err != nil {
			return err
		}
		for _, e := range n.Formats {
			keep(e.Blob, e.SHA256)
		}
		for _, t := range n.Uploads {
			keep(t.Blob, t.SHA256)
			shared[contentPrefix+t.SHA256] = true
		}
	}
	maps.DeleteFunc(strays, func(_, digestKey string) bool { return shared[digestKey] })
	return nil
}

// release marks content that nothing refers to, or condemns its blob.
func (c *collector) release(ctx context.Context, key string, found storedDigest, done *Collected) error {
	if found.Unreferenced.IsZero() {
		found.Unreferenced = time.Now().UTC()
		_, err := c.docs.Update(ctx, key, found.revision, found.digest.encode())
		if storage.Overtaken(err) {
			return nil
		}
		return err
	}
	if !clock.Passed(found.Unreferenced, c.grace) {
		return nil
	}
	if err := c.docs.Delete(ctx, key, found.revision); err != nil {
		if storage.Overtaken(err) {
			return nil
		}
		return err
	}
	done.Contents++
	done.Bytes += found.Size
	return c.condemn(ctx, found.Blob)
}

// clear deletes a blob that was condemned before, or condemns it.
func (c *collector) clear(
	ctx context.Context, blob string, condemned map[string]storage.Revision, done *Collected,
) error {
	revision, before := condemned[condemnedKey(blob)]
	if !before {
		return c.condemn(ctx, blob)
	}
	// The blob is deleted before its document: a blob that is not condemned any more
	// does not exist any more.
	if err := c.blobs.Delete(ctx, blob); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	done.Blobs++
	if err := c.docs.Delete(ctx, condemnedKey(blob), revision); err != nil && !storage.Overtaken(err) {
		return err
	}
	return nil
}

func (c *collector) condemn(ctx context.Context, blob string) error {
	_, err := c.docs.Create(ctx, condemnedKey(blob), []byte(`{}`))
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return err
	}
	return nil
}

// usable reports whether an upload whose ticket has the digest of a blob may
// share the blob.
func (c *collector) usable(ctx context.Context, blob string) (bool, error) {
	condemned, err := c.isCondemned(ctx, blob)
	if err != nil || condemned {
		return false, err
	}
	_, err = c.blobs.Stat(ctx, blob)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// isCondemned reports whether a blob is going to be deleted.
func (c *collector) isCondemned(ctx context.Context, blob string) (bool, error) {
	_, err := c.docs.Get(ctx, condemnedKey(blob))
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
