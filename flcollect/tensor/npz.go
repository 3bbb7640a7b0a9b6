package tensor

import (
	"archive/zip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"strings"
)

// ErrArchive is returned for bytes that are not a .npz file, or not a supported
// one. The message names the entry.
var ErrArchive = errors.New("tensor: bad .npz file")

// ErrLimit is returned when an archive exceeds a limit.
var ErrLimit = errors.New("tensor: over the limit")

// Named is a tensor under a name, as an entry of a .npz file.
type Named struct {
	// Name identifies the tensor in a file. It is relative and may have slashes:
	// no element is empty, "." or "..", and it has no backslash.
	Name string
	// Tensor is the array.
	Tensor Tensor
}

// extension is the extension of the names of entries.
const extension = ".npy"

// WriteNPZ writes the arrays as numpy.savez does: a zip archive with a .npy file
// an array, in their order, none compressed. The elements are written to w
// without copying them. The same arrays make the same bytes. The zip64 forms are
// used if an entry or the archive exceeds 4 GiB.
func WriteNPZ(w io.Writer, arrays ...Named) error {
	archive := zip.NewWriter(w)
	seen := make(map[string]bool, len(arrays))
	for _, array := range arrays {
		err := checkName(array.Name, seen)
		if err == nil {
			err = writeEntry(archive, array)
		}
		if err != nil {
			return fmt.Errorf("write array %q: %w", array.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write the directory of the archive: %w", err)
	}
	return nil
}

// writeEntry writes one array. Readers that read a file from its front need the
// size before the data, so the checksum is computed first. Only a size of 64
// bits follows the data, because package zip has no other form for that.
func writeEntry(archive *zip.Writer, array Named) error {
	if array.Tensor.dtype.Size() == 0 {
		return fmt.Errorf("%w: %v is no type of elements", ErrShape, array.Tensor.dtype)
	}
	const followedBySizes, utf8, january1980 = 1 << 3, 1 << 11, 1<<5 | 1
	file := Encode(array.Tensor)
	entry := &zip.FileHeader{Name: array.Name + extension, Method: zip.Store, Flags: utf8, ReaderVersion: 20}
	entry.SetMode(0o644)
	entry.ModifiedDate = january1980 //lint:ignore SA1019 raw entries take no Modified
	for _, chunk := range file {
		entry.CRC32 = crc32.Update(entry.CRC32, crc32.IEEETable, chunk)
		entry.UncompressedSize64 += uint64(len(chunk))
	}
	entry.CompressedSize64 = entry.UncompressedSize64
	if entry.CompressedSize64 >= math.MaxUint32 {
		entry.Flags |= followedBySizes
		entry.ReaderVersion = 45
	}
	into, err := archive.CreateRaw(entry)
	if err != nil {
		return err
	}
	for _, chunk := range file {
		if _, err := into.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// checkName returns an error if an array cannot have a name, and records the
// name.
func checkName(name string, seen map[string]bool) error {
	switch {
	case name == "":
		return errors.New("an array needs a name")
	case !fs.ValidPath(name+extension) || strings.ContainsAny(name, "\\\x00"):
		return errors.New("the name is no relative path")
	case seen[name]:
		return errors.New("the name comes twice")
	}
	seen[name] = true
	return nil
}

const (
	// mostEntries bounds the arrays of an archive that is read.
	mostEntries = 1 << 16
	// mostDirectory bounds the directory of an archive that is read, in bytes,
	// because it is read as a whole.
	mostDirectory = 8 << 20
	// mostDeflated is the largest ratio of uncompressed to compressed bytes.
	mostDeflated = 1032
)

// ReadNPZ reads an archive of size bytes as numpy.savez and
// numpy.savez_compressed write it, the arrays in the order of its directory.
// limit bounds the uncompressed bytes of all entries together; beyond it the
// error matches [ErrLimit]. While an array in Fortran order or big-endian is
// converted, it takes three times its size. Up to 65,536 arrays are read. Errors
// of the archive match [ErrArchive]; errors of r are wrapped.
func ReadNPZ(r io.ReaderAt, size, limit int64) ([]Named, error) {
	file := &source{ReaderAt: r, size: size, left: mostDirectory}
	archive, err := zip.NewReader(file, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("read the directory of the archive: %w", file.blame(err))
	}
	if n := len(archive.File); n > mostEntries {
		return nil, fmt.Errorf("read the directory of the archive: %w: %d arrays, at most %d are read", ErrLimit, n,
			mostEntries)
	}
	file.left = math.MaxInt64
	arrays := make([]Named, 0, len(archive.File))
	seen := make(map[string]bool, len(archive.File))
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, extension)
		array, err := readEntry(entry, size, limit)
		if err == nil {
			err = checkName(name, seen)
		}
		if err != nil {
			return nil, fmt.Errorf("read entry %q: %w", entry.Name, file.blame(err))
		}
		limit -= int64(entry.UncompressedSize64)
		arrays = append(arrays, Named{Name: name, Tensor: array})
	}
	return arrays, nil
}

// readEntry reads the array of an entry of at most the given size.
func readEntry(entry *zip.File, archive, limit int64) (Tensor, error) {
	const encrypted = 1
	packed, unpacked := entry.CompressedSize64, entry.UncompressedSize64
	switch {
	case entry.Flags&encrypted != 0:
		return Tensor{}, errors.New("it is encrypted")
	case entry.Method == zip.Store && packed != unpacked, packed > uint64(archive), unpacked/mostDeflated > packed:
		return Tensor{}, fmt.Errorf("%d bytes cannot come from %d in an archive of %d", unpacked, packed, archive)
	case limit < 0 || unpacked > min(uint64(limit), math.MaxInt):
		return Tensor{}, fmt.Errorf("%w: %d bytes, at most %d are left", ErrLimit, unpacked, max(limit, 0))
	}
	content, err := entry.Open()
	if err != nil {
		return Tensor{}, err
	}
	defer content.Close()
	data := make([]byte, unpacked)
	if _, err := io.ReadFull(content, data); err != nil {
		return Tensor{}, err
	}
	// The checksum is compared at the end.
	switch _, err := io.ReadFull(content, make([]byte, 1)); {
	case err == nil:
		return Tensor{}, fmt.Errorf("it is longer than the %d bytes it says", unpacked)
	case !errors.Is(err, io.EOF):
		return Tensor{}, err
	}
	return Decode(data)
}

// source is the file of an archive: it bounds where and how much of it is read,
// and keeps the error of the file, to distinguish it from a bad archive.
type source struct {
	io.ReaderAt
	size   int64
	left   int64
	failed error
}

// ReadAt implements [io.ReaderAt].
func (s *source) ReadAt(p []byte, from int64) (int, error) {
	if from < 0 || from > s.size {
		return 0, fmt.Errorf("it refers to byte %d of %d", from, s.size)
	}
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, fmt.Errorf("%w: a directory of more than %d bytes", ErrLimit, mostDirectory)
	}
	n, err := s.ReaderAt.ReadAt(p, from)
	if err != nil && !errors.Is(err, io.EOF) && s.failed == nil {
		s.failed = err
	}
	return n, err
}

// blame returns the error of the file if there is one, and that of the archive
// otherwise.
func (s *source) blame(err error) error {
	if s.failed != nil {
		return s.failed
	}
	if errors.Is(err, ErrLimit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrArchive, err)
}
