package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
	blobFolder = "blobs/sha256/"
	layoutText = `{"imageLayoutVersion":"1.0.0"}`
)

// Writer writes one layout. It is created with [NewTarWriter] or [NewDirWriter]. End it
// with Close or Abort. It is for one goroutine at a time. After an error the layout is
// not complete.
type Writer struct {
	put     func(name string, size int64, content io.Reader) error
	finish  func() error
	abort   func() error
	written map[string]bool
}

// NewTarWriter returns a writer of a tar archive. The index comes first, so that a
// reader of the archive can tell what follows. Equal layouts give equal archives. The
// archive is complete when Close has returned nil; the underlying writer stays open.
func NewTarWriter(to io.Writer, index Index) (*Writer, error) {
	archive := tar.NewWriter(to)
	w := &Writer{written: map[string]bool{}, finish: archive.Close, abort: func() error { return nil }}
	w.put = func(name string, size int64, content io.Reader) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.CopyBuffer(writerOnly{archive}, content, make([]byte, copyBuffer))
		return err
	}
	if err := w.document(layoutFile, []byte(layoutText)); err != nil {
		return nil, err
	}
	return w, w.index(index)
}

// copyBuffer is how many bytes of a blob are in memory at one time.
const copyBuffer = 128 << 10

// writerOnly hides the other methods of a writer, so that a copy uses the buffer.
type writerOnly struct{ io.Writer }

// NewDirWriter returns a writer of a folder, which is created if it is missing. At
// Close the index replaces a layout that is in the folder already, in one step; blobs
// that both have are not written again. Every file is on stable storage when Close has
// returned nil.
func NewDirWriter(dir string, index Index) (*Writer, error) {
	if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(blobFolder)), 0o755); err != nil {
		return nil, fmt.Errorf("write image layout: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("write image layout: %w", err)
	}
	w := &Writer{written: map[string]bool{}, abort: root.Close}
	w.put = func(name string, size int64, content io.Reader) error { return putFile(root, name, size, content) }
	if err := w.document(layoutFile, []byte(layoutText)); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	w.finish = func() error { return errors.Join(w.index(index), root.Close()) }
	return w, nil
}

// putFile writes a file under a temporary name and renames it when it is durable. A
// blob that is there with its full length is compared only.
func putFile(root *os.Root, name string, size int64, content io.Reader) error {
	info, err := root.Lstat(name)
	if err == nil && path.Dir(name)+"/" == blobFolder && info.Mode().IsRegular() && info.Size() == size {
		return compareFile(root, name, content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial := name + ".partial"
	if err := root.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(writerOnly{file}, content, make([]byte, copyBuffer))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return syncFolder(root, path.Dir(name))
}

// compareFile hashes the file, and the content that would have been written, to verify
// both.
func compareFile(root *os.Root, name string, content io.Reader) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != path.Base(name) {
		return fmt.Errorf("%w: %s was there before with other bytes", ErrDigest, name)
	}
	_, err = io.Copy(io.Discard, content)
	return err
}

// document writes a file that is not a blob.
func (w *Writer) document(name string, data []byte) error {
	if err := w.put(name, int64(len(data)), bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (w *Writer) index(index Index) error {
	if index.Manifests == nil {
		index.Manifests = []Descriptor{} // an array, by the specification
	}
	index.SchemaVersion, index.MediaType = 2, MediaTypeIndex
	data, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("write %s: %w", indexFile, err)
	}
	return w.document(indexFile, data)
}

// Blob writes the blob that a descriptor describes, unless it was written before. The
// blob is opened only then, and closed. The error matches [ErrDigest] if the bytes do
// not match the descriptor.
func (w *Writer) Blob(d Descriptor, open func() (io.ReadCloser, error)) error {
	if err := d.check(); err != nil {
		return fmt.Errorf("write blob: %w", err)
	}
	if w.written[d.Digest] {
		return nil
	}
	content, err := open()
	if err != nil {
		return fmt.Errorf("write blob %s: %w", d.Digest, err)
	}
	defer func() { _ = content.Close() }() // it was only read
	name := blobFolder + d.Digest[len(digestPrefix):]
	if err := w.put(name, d.Size, verify(content, d)); err != nil {
		return fmt.Errorf("write blob %s: %w", d.Digest, err)
	}
	w.written[d.Digest] = true
	return nil
}

// Bytes writes a small blob.
func (w *Writer) Bytes(d Descriptor, data []byte) error {
	return w.Blob(d, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// Abort ends the writer without completing the layout. A folder keeps the index that it
// had. It does nothing after Close.
func (w *Writer) Abort() error {
	if w.finish == nil {
		return nil
	}
	w.finish = nil
	return w.abort()
}

// Close completes the layout.
func (w *Writer) Close() error {
	if w.finish == nil {
		return nil
	}
	finish := w.finish
	w.finish = nil
	if err := finish(); err != nil {
		return fmt.Errorf("complete image layout: %w", err)
	}
	return nil
}
