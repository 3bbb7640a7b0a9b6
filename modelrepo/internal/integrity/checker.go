package integrity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/storage"
)

// Content is bytes by their digest, and the blob that has them.
type Content struct {
	// Blob is the key of the blob.
	Blob string
	// Size is the length in bytes, and SHA256 the digest in lower-case hex.
	Size   int64
	SHA256 string
}

const (
	// lately is how long the result of a comparison holds in this process.
	lately = time.Hour
	// maxRemembered is how many results are kept.
	maxRemembered = 10_000
	// settled is how old the last change of a file must be when the file is compared, so
	// that a later change moves its time: some clocks of file systems tick that slowly.
	settled = 10 * time.Millisecond
	// compareWritten is the size from which on a file that was just written counts as
	// compared. The kernel can send it by itself; smaller ones gain nothing by that.
	compareWritten = 1 << 20
)

// Checker compares content with its digest. It is created with [New] and is safe for
// concurrent use, also by several processes over one storage.
type Checker struct {
	docs   storage.Documents
	blobs  storage.Blobs
	copier *transfer.Copier
	log    *slog.Logger

	mu        sync.Mutex
	good      map[string]comparison // by blob
	damaged   map[string]bool       // blobs with a mark, as far as this process knows
	suspects  map[string]Content    // by blob; see compareParts
	comparing map[string]*comparing // by blob

	suspected chan struct{} // has one when there may be suspects

	replaced atomic.Uint64
}

// comparison is when a blob was found to have its digest.
type comparison struct {
	at   time.Time   // of this process's clock, monotonic
	file os.FileInfo // of its file at that time; nil for a blob that is not a file
}

// New returns a checker over the two stores. It reads and writes nothing.
func New(docs storage.Documents, blobs storage.Blobs, copier *transfer.Copier, log *slog.Logger) *Checker {
	return &Checker{docs: docs, blobs: blobs, copier: copier, log: log,
		good: map[string]comparison{}, damaged: map[string]bool{}, suspects: map[string]Content{},
		comparing: map[string]*comparing{}, suspected: make(chan struct{}, 1)}
}

// Replaced returns how many blobs were damaged, and got their bytes from an upload.
func (c *Checker) Replaced() uint64 { return c.replaced.Load() }

// fileState returns the state of the file of an open blob, or nil if the blob is not one file.
func fileState(blob storage.BlobReader) os.FileInfo {
	onDisk, ok := blob.(interface{ File() *os.File })
	if !ok {
		return nil
	}
	info, err := onDisk.File().Stat()
	if err != nil {
		return nil
	}
	return info
}

// remember records that a blob has its digest. The file is its state before the blob was
// compared.
func (c *Checker) remember(blob string, file os.FileInfo) {
	now := time.Now()
	if file != nil && now.Sub(file.ModTime()) < settled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.good) >= maxRemembered {
		clear(c.good)
	}
	c.good[blob] = comparison{now, file}
}

// forget records that it is unknown whether a blob has its digest.
func (c *Checker) forget(blob string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.good, blob)
}

// isGood reports whether this process has lately compared the blob with its digest, and its
// file, if it is one, has not changed since.
func (c *Checker) isGood(blob string, file os.FileInfo) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.good[blob]
	switch {
	case !found || c.damaged[blob] || time.Since(known.at) > lately || (known.file == nil) != (file == nil):
		return false
	case file == nil:
		return true
	}
	return os.SameFile(known.file, file) && known.file.Size() == file.Size() && known.file.ModTime().Equal(file.ModTime())
}

// Written records that an upload has just hashed the bytes of a blob while it wrote them.
// That counts for large files only: their next change can be seen.
func (c *Checker) Written(ctx context.Context, blob string, size int64) {
	if size < compareWritten {
		return
	}
	reader, err := c.blobs.Open(ctx, blob)
	if err != nil {
		return // the next reader finds out
	}
	defer func() { _ = reader.Close() }() // nothing was read
	if file := fileState(reader); file != nil {
		c.remember(blob, file)
	}
}

// errAbsent is in the errors about a blob that is not there at all. It may have been deleted
// since the content was read that names it.
var errAbsent = errors.New("modelrepo: the blob is absent")

// Compare returns nil if the blob has the size and the digest of the content, and otherwise
// an error that matches [storage.ErrDamaged]. Other errors say that the storage could not be
// read. Each is called after every piece of bytes that was read; its error ends the comparison.
func (c *Checker) Compare(ctx context.Context, content Content, each func(bytes int) error) error {
	reader, err := c.blobs.Open(ctx, content.Blob)
	if err != nil {
		return asDamage(content, err)
	}
	defer func() { _ = reader.Close() }() // it was only read
	file := fileState(reader)
	if err := compareSize(reader, content); err != nil {
		return err
	}
	var stopped error // by the caller
	count := writerFunc(func(p []byte) (int, error) { stopped = each(len(p)); return len(p), stopped })
	err = c.copier.Copy(count, storage.Checked(reader, content.SHA256, nil), func() error { return nil })
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return asDamage(content, err)
	}
	c.remember(content.Blob, file)
	return nil
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// asDamage returns the error of reading a blob. One that is absent is damaged, because
// content names it.
func asDamage(content Content, err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		// The text of the cause only: that a blob is absent is not an answer to a caller.
		return fmt.Errorf("%w: %w: blob %q of the SHA-256 %s: %v", storage.ErrDamaged, errAbsent, content.Blob, content.SHA256, err)
	}
	return err
}

// compareSize returns an error if the blob does not say that it has the size of the content.
func compareSize(reader storage.BlobReader, content Content) error {
	if is := reader.Info().Size; is != content.Size {
		return fmt.Errorf("%w: it has %d bytes, not %d", storage.ErrDamaged, is, content.Size)
	}
	return nil
}

// compareEnd is compareSize, and reads the last byte, because some storage finds only then that
// it is missing.
func compareEnd(reader storage.BlobReader, content Content) error {
	if err := compareSize(reader, content); err != nil || content.Size == 0 {
		return err
	}
	if _, err := reader.Seek(-1, io.SeekEnd); err != nil {
		return err
	}
	_, err := io.ReadFull(reader, make([]byte, 1))
	return err
}

// Ensure returns nil when the blob has the bytes of the content, so that it may be shared. It
// compares the size, and the digest unless that was done lately. A damaged blob gets the bytes
// of the other one, whose upload has hashed them: whatever names the blob is whole again.
func (c *Checker) Ensure(ctx context.Context, content Content, from string) error {
	err := c.sharable(ctx, content)
	if !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	c.log.Warn("stored content is damaged, an upload of the same bytes replaces it", "error", err)
	if err := c.replace(ctx, content, from); err != nil {
		return fmt.Errorf("replace the damaged blob %q: %w", content.Blob, err)
	}
	c.replaced.Add(1)
	return c.Clear(ctx, content.Blob)
}

// sharable is Compare, except that a digest that was compared lately is not compared again.
func (c *Checker) sharable(ctx context.Context, content Content) error {
	reader, err := c.blobs.Open(ctx, content.Blob)
	if err != nil {
		return asDamage(content, err)
	}
	good := c.isGood(content.Blob, fileState(reader))
	if good {
		err = compareEnd(reader, content)
	}
	_ = reader.Close() // it was only read
	if good {
		return asDamage(content, err)
	}
	return c.Compare(ctx, content, func(int) error { return nil })
}

// replace copies the bytes of a blob into the blob of the content, in one step. Nothing
// changes unless they have the content's digest.
func (c *Checker) replace(ctx context.Context, content Content, from string) error {
	reader, err := c.blobs.Open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	writer, err := c.blobs.Create(ctx, content.Blob)
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	if err := c.copier.Copy(writer, storage.Checked(reader, content.SHA256, nil), func() error { return nil }); err != nil {
		return err
	}
	c.forget(content.Blob)
	_, err = writer.Commit(ctx)
	return err
}
