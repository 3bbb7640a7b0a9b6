package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/storage"
)

// Collected counts what [Store.Collect] did.
type Collected struct {
	// Contents are contents that nothing referred to and that can no longer be
	// referred to, and Bytes their size.
	Contents int
	Bytes    int64
	// Blobs are the blobs that were deleted: those of such contents, of uploads
	// that crashed, and of uploads whose bytes had been there already.
	Blobs int
}

// Collect removes what nothing refers to, in three rounds that are a call each:
// a content is marked; when the grace period has passed its digest's document
// goes and its blob is condemned; and then the blob is deleted. The blobs of
// crashed uploads are condemned when they are older than the grace period.
// Uploads, deletions and other collections may go on meanwhile, here and in
// other processes. It reads every version once, and needs memory in proportion
// to the number of different contents, about 300 bytes each.
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
	docs  storage.Documents
	blobs storage.Blobs
	grace time.Duration
}

// The order of the readings is what makes this safe.
//
// A digest's document that was read at a revision, and is in no version that
// was read afterwards, may go at that revision: an upload that came to share
// its blob later has touched it, and one that came earlier is in its version.
//
// A blob may go if it had been condemned before any of the readings, no digest
// named it and no version had it. An upload that came to share it later finds
// it condemned, and brings its own. The upload that wrote it cannot end any
// more, because its ticket is gone.
func (c *collector) collect(ctx context.Context, done *Collected) error {
	condemned, err := c.condemned(ctx)
	if err != nil {
		return err
	}
	contents, err := c.contents(ctx)
	if err != nil {
		return err
	}
	strays, err := c.unnamed(ctx, contents)
	if err != nil {
		return err
	}
	if err := c.references(ctx, contents, strays); err != nil {
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
	for key, revision := range condemned { // gone already, or in use after all
		if err := c.docs.Delete(ctx, key, revision); err != nil && !cas.Moved(err) {
			return err
		}
	}
	return nil
}

// condemnedKey is the key of the document that condemns a blob.
func condemnedKey(blob string) string { return condemnedPrefix + blob[len(blobPrefix):] }

// condemned reads which blobs are condemned, by the keys of the documents that
// say so.
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

// contents reads the digests' documents, by key.
func (c *collector) contents(ctx context.Context) (map[string]storedDigest, error) {
	contents := map[string]storedDigest{}
	for doc, err := range storage.All(ctx, c.docs, contentPrefix) {
		if err != nil {
			return nil, err
		}
		d, err := decode[digest](doc)
		if err != nil {
			return nil, err
		}
		contents[doc.Key] = storedDigest{d, doc.Revision}
	}
	return contents, nil
}

// unnamed returns the blobs older than the grace period that no digest's
// document names, with the keys of their digests' documents.
func (c *collector) unnamed(ctx context.Context, contents map[string]storedDigest) (map[string]string, error) {
	strays := map[string]string{}
	for info, err := range c.blobs.List(ctx, blobPrefix) {
		if err != nil {
			return nil, err
		}
		digestKey := contentPrefix + info.SHA256
		if contents[digestKey].Blob != info.Key && time.Since(info.Modified) >= c.grace {
			strays[info.Key] = digestKey
		}
	}
	return strays, nil
}

// references takes out what the versions refer to: by the blob, and by the
// digest where an upload is about to share what has it.
func (c *collector) references(ctx context.Context, contents map[string]storedDigest, strays map[string]string) error {
	byBlob := make(map[string]string, len(contents))
	for key, found := range contents {
		byBlob[found.Blob] = key
	}
	shared := map[string]bool{}
	keep := func(blob, sha256 string) {
		delete(contents, byBlob[blob])
		delete(contents, contentPrefix+sha256)
		delete(strays, blob)
	}
	for doc, err := range storage.All(ctx, c.docs, versionPrefix) {
		if err != nil {
			return err
		}
		n, err := decode[node](doc)
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

// release marks a content that nothing refers to, or condemns its blob.
func (c *collector) release(ctx context.Context, key string, found storedDigest, done *Collected) error {
	if found.Unreferenced.IsZero() {
		found.Unreferenced = time.Now().UTC()
		_, err := c.docs.Update(ctx, key, found.revision, encode(found.digest))
		if cas.Moved(err) {
			return nil
		}
		return err
	}
	if time.Since(found.Unreferenced) < c.grace {
		return nil
	}
	if err := c.docs.Delete(ctx, key, found.revision); err != nil {
		if cas.Moved(err) {
			return nil
		}
		return err
	}
	done.Contents++
	done.Bytes += found.Size
	return c.condemn(ctx, found.Blob)
}

// clear deletes a blob that had been condemned, or condemns it.
func (c *collector) clear(ctx context.Context, blob string, condemned map[string]storage.Revision, done *Collected) error {
	revision, before := condemned[condemnedKey(blob)]
	if !before {
		return c.condemn(ctx, blob)
	}
	// The blob goes first: whoever finds it no longer condemned finds it gone.
	if err := c.blobs.Delete(ctx, blob); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	done.Blobs++
	if err := c.docs.Delete(ctx, condemnedKey(blob), revision); err != nil && !cas.Moved(err) {
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
	_, err := c.docs.Get(ctx, condemnedKey(blob))
	switch {
	case err == nil:
		return false, nil
	case !errors.Is(err, storage.ErrNotFound):
		return false, err
	}
	_, err = c.blobs.Stat(ctx, blob)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
