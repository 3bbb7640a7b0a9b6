package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Visitor receives the files of a layout. An error of a method ends the reading and is
// returned unchanged.
type Visitor interface {
	// Index receives the index.json, once. In an archive of other tools it may
	// come after blobs.
	Index(index Index) error
	// Blob receives a blob; the descriptor has its digest and size. Reading
	// fails at the end with ErrDigest if the bytes are others. A blob that is
	// not read to its end is skipped. The reader is not valid afterwards.
	Blob(d Descriptor, content io.Reader) error
}

// ReadTar reads a layout from a tar archive, in the order of the archive. Files that do
// not belong to a layout are skipped; links, sparse files and names that lead out of
// the archive are refused. The error matches [ErrInvalid], [ErrDigest] or
// [ErrIncomplete], or is that of the reader or the visitor. The visitor checks whether
// all blobs that the index needs are there.
func ReadTar(from io.Reader, visitor Visitor) error {
	archive := tar.NewReader(from)
	var seen struct{ layout, index bool }
	for {
		header, err := archive.Next()
		switch {
		case err == io.EOF && !seen.layout:
			return fmt.Errorf("read archive: %w: it has no %s", ErrIncomplete, layoutFile)
		case err == io.EOF && !seen.index:
			return fmt.Errorf("read archive: %w: it has no %s", ErrIncomplete, indexFile)
		case err == io.EOF:
			return nil
		case err != nil:
			return archiveError(err)
		}
		name, err := fileName(header)
		if err != nil {
			return err
		}
		switch digest, isBlob := strings.CutPrefix(name, blobFolder); {
		case name == layoutFile:
			if seen.layout {
				return fmt.Errorf("read archive: %w: it has %s twice", ErrInvalid, name)
			}
			seen.layout = true
			err = readLayout(archive)
		case name == indexFile:
			if seen.index {
				return fmt.Errorf("read archive: %w: it has %s twice", ErrInvalid, name)
			}
			seen.index = true
			err = readIndex(archive, visitor)
		case isBlob && validDigest(digestPrefix+digest):
			d := Descriptor{Digest: digestPrefix + digest, Size: header.Size}
			err = visitor.Blob(d, verify(archive, d))
		}
		if err != nil {
			return archiveError(err)
		}
	}
}

// archiveError turns the errors of a broken archive into those of this package.
func archiveError(err error) error {
	switch {
	case errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("read archive: %w: %w", ErrInvalid, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read archive: %w: %w", ErrIncomplete, err)
	}
	return err
}

// fileName returns the name of a regular file, and nothing for a folder.
func fileName(header *tar.Header) (string, error) {
	name := path.Clean(header.Name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("read archive: %w: the name %.200q leads out of it", ErrInvalid, header.Name)
	}
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "", fmt.Errorf("read archive: %w: %.200q is a sparse file", ErrInvalid, header.Name)
		}
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return name, nil
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return "", nil
	}
	return "", fmt.Errorf("read archive: %w: %.200q is neither a file nor a folder", ErrInvalid, header.Name)
}

// ReadDir reads a layout from a folder: first the index, then its manifests, then the
// blobs that they refer to, each once. It does not follow links out of the folder.
// Errors are those of [ReadTar]; a missing file matches [ErrIncomplete].
func ReadDir(dir string, visitor Visitor) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("read image layout: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := withFile(root, layoutFile, func(f *os.File, _ int64) error { return readLayout(f) }); err != nil {
		return err
	}
	kept := &indexKeeper{Visitor: visitor}
	if err := withFile(root, indexFile, func(f *os.File, _ int64) error { return readIndex(f, kept) }); err != nil {
		return err
	}
	seen := map[string]bool{}
	var blobs []Descriptor
	for _, d := range kept.index.Manifests {
		if d.MediaType != MediaTypeManifest || seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		m, err := visitManifest(root, d, visitor)
		if err != nil {
			return err
		}
		for _, b := range m.blobs() {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				blobs = append(blobs, Descriptor{Digest: b.Digest, Size: b.Size})
			}
		}
	}
	for _, b := range blobs {
		if err := visitBlob(root, b, visitor); err != nil {
			return err
		}
	}
	return nil
}

// indexKeeper keeps the index that it passes on.
type indexKeeper struct {
	Visitor
	index Index
}

// Index implements [Visitor].
func (k *indexKeeper) Index(index Index) error {
	k.index = index
	return k.Visitor.Index(index)
}

func visitManifest(root *os.Root, d Descriptor, visitor Visitor) (Manifest, error) {
	var data []byte
	err := withFile(root, blobFolder+d.Digest[len(digestPrefix):], func(f *os.File, _ int64) (err error) {
		data, err = ReadSmall(verify(f, d), MaxManifest)
		return err
	})
	if err != nil {
		return Manifest{}, err
	}
	m, err := ParseManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", d.Digest, err)
	}
	return m, visitor.Blob(d, bytes.NewReader(data))
}

func visitBlob(root *os.Root, d Descriptor, visitor Visitor) error {
	return withFile(root, blobFolder+d.Digest[len(digestPrefix):], func(f *os.File, size int64) error {
		if size != d.Size {
			return fmt.Errorf("read %s: %w: it has %d bytes, expected %d", d.Digest, ErrDigest, size, d.Size)
		}
		return visitor.Blob(d, verify(f, d))
	})
}

// withFile opens a regular file of the layout.
func withFile(root *os.Root, name string, use func(*os.File, int64) error) error {
	info, err := root.Stat(name) // before it is opened, because opening a pipe may block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read image layout: %w: it has no %s", ErrIncomplete, name)
	case err != nil:
		return fmt.Errorf("read image layout: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("read image layout: %w: %s is not a file", ErrInvalid, name)
	}
	file, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("read image layout: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return use(file, info.Size())
}

func readLayout(from io.Reader) error {
	data, err := ReadSmall(from, 1<<16)
	if err != nil {
		return fmt.Errorf("read %s: %w", layoutFile, err)
	}
	var layout struct {
		Version string `json:"imageLayoutVersion"`
	}
	if err := json.Unmarshal(data, &layout); err != nil {
		return fmt.Errorf("read %s: %w: %w", layoutFile, ErrInvalid, err)
	}
	if layout.Version != "1.0.0" {
		return fmt.Errorf("read %s: %w: version %.50q of the layout, expected 1.0.0", layoutFile, ErrInvalid, layout.Version)
	}
	return nil
}

func readIndex(from io.Reader, visitor Visitor) error {
	data, err := ReadSmall(from, MaxIndex)
	if err != nil {
		return fmt.Errorf("read %s: %w", indexFile, err)
	}
	index, err := ParseIndex(data)
	if err != nil {
		return err
	}
	return visitor.Index(index)
}

// ReadSmall reads a document to its end. The error matches [ErrInvalid] if it
// is longer than the limit, in bytes.
func ReadSmall(from io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrInvalid, limit)
	}
	return data, err
}

// verify returns a reader that fails at its end if the bytes are not those of the
// descriptor.
func verify(from io.Reader, d Descriptor) io.Reader {
	return &verified{from: from, descriptor: d, sum: sha256.New()}
}

type verified struct {
	from       io.Reader
	descriptor Descriptor
	sum        hash.Hash
	size       int64
}

// Read implements [io.Reader].
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.from.Read(p)
	v.sum.Write(p[:n]) // hashes never fail
	v.size += int64(n)
	switch {
	case v.size > v.descriptor.Size:
		over := int(v.size - v.descriptor.Size)
		return max(n-over, 0), fmt.Errorf("%w: it has more than %d bytes", ErrDigest, v.descriptor.Size)
	case err != io.EOF:
		return n, err
	case v.size < v.descriptor.Size:
		return n, fmt.Errorf("%w: it has %d bytes, expected %d", ErrDigest, v.size, v.descriptor.Size)
	case digestPrefix+hex.EncodeToString(v.sum.Sum(nil)) != v.descriptor.Digest:
		return n, fmt.Errorf("%w: its digest is another", ErrDigest)
	}
	return n, io.EOF
}
