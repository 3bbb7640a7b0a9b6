package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/cmd/internal/backup"
)

// origin is where a backup comes from.
type origin interface {
	// read calls each for every file but the manifest, and returns the manifest, or an
	// error that says that it is missing.
	read(ctx context.Context, each func(name string, content io.Reader) error) (manifest, error)
	// Close ends the reading.
	Close() error
}

// manifest is a manifest with its bytes.
type manifest struct {
	backup.Manifest
	data []byte
}

// target is where a backup goes to. What is written is incomplete until finish.
type target interface {
	// write writes a file.
	write(ctx context.Context, name string, content io.Reader) error
	// finish makes the files durable and the target complete, with the manifest.
	finish(ctx context.Context, manifest []byte) error
	// abort removes what was written.
	abort() error
}

// errNoManifest is for backups without the manifest, which is written last.
var errNoManifest = errors.New("it has no " + backup.ManifestName + ": it is not a backup, or an incomplete one; use another one")

// transferred are the files that have been transferred, with what is known of them.
type transferred map[string]backup.File

// transfer takes all files from the origin to the target and compares them with the
// manifest. It does not finish the target.
func transfer(ctx context.Context, from origin, to target, progress *progress) (manifest, error) {
	files := transferred{}
	found, err := from.read(ctx, func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return files.take(ctx, name, content, to, progress)
	})
	if err != nil {
		return manifest{}, err
	}
	return found, files.compare(found.Manifest)
}

// take takes one file to the target.
func (t transferred) take(ctx context.Context, name string, content io.Reader, to target, progress *progress) error {
	if err := backup.CheckName(name); err != nil {
		return fmt.Errorf("file %.80q: %w", name, err)
	}
	if !backup.IsKnownToAny(name) { // the manifest, with the owner, may come last
		return fmt.Errorf("file %q: no folder of a server has such a file; a newer version may have created this backup", name)
	}
	if _, twice := t[name]; twice {
		return fmt.Errorf("file %q is there twice", name)
	}
	hash := sha256.New()
	counted := &counter{from: io.TeeReader(content, hash), ctx: ctx, progress: progress}
	if err := to.write(ctx, name, counted); err != nil {
		return fmt.Errorf("file %q: %w", name, err)
	}
	t[name] = backup.File{Name: name, Size: counted.bytes, SHA256: hex.EncodeToString(hash.Sum(nil))}
	progress.file()
	return nil
}

// compare returns an error unless the files are those of the manifest.
func (t transferred) compare(m backup.Manifest) error {
	for _, want := range m.Files {
		found, ok := t[want.Name]
		switch {
		case !ok:
			return fmt.Errorf("file %q is missing; use another backup", want.Name)
		case found.Size != want.Size:
			return fmt.Errorf("file %q has %d bytes, but %s says %d: it is damaged; use another backup",
				want.Name, found.Size, backup.ManifestName, want.Size)
		case found.SHA256 != want.SHA256:
			return fmt.Errorf("file %q does not have the digest that %s says: it is damaged; use another backup",
				want.Name, backup.ManifestName)
		}
	}
	if len(t) == len(m.Files) {
		return nil
	}
	for _, want := range m.Files {
		delete(t, want.Name)
	}
	for name := range t {
		return fmt.Errorf("file %q is not in %s; use another backup", name, backup.ManifestName)
	}
	return nil
}

// counter counts what is read, until the context ends.
type counter struct {
	from     io.Reader
	ctx      context.Context
	progress *progress
	bytes    int64
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	c.bytes += int64(n)
	c.progress.add(int64(n))
	return n, err
}
