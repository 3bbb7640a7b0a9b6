package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// CheckedReader reads a blob and compares it with a digest. It is created with [Checked].
//
// A blob that is read from its beginning to its end is compared: the Read that gets to the
// end returns an error that matches [ErrDamaged], and none of its bytes, if the blob does
// not have the digest. So a caller that stops at an error never takes a damaged blob for a
// whole one, although it may have read most of it. A part that is read after a Seek is not
// compared; a Seek to the beginning starts again.
type CheckedReader struct {
	BlobReader
	digest   string
	checked  func(error)
	sum      hash.Hash // of the bytes from the beginning to position; nil if some were not read
	position int64
	verdict  error // sticky
}

// Checked returns a reader of the blob that compares it with a SHA-256 digest in lower-case
// hex; an empty one is that of the blob's Info. Checked is called with the result of each
// comparison, nil or an error that matches [ErrDamaged], before Read returns; nil is not
// called. Close closes the blob.
func Checked(blob BlobReader, digest string, checked func(error)) *CheckedReader {
	if digest == "" {
		digest = blob.Info().SHA256
	}
	if checked == nil {
		checked = func(error) {}
	}
	return &CheckedReader{BlobReader: blob, digest: digest, checked: checked, sum: sha256.New()}
}

// Checking reports whether the bytes that are read next will be compared, if the reader goes
// on to the end.
func (r *CheckedReader) Checking() bool { return r.sum != nil }

// Read implements [io.Reader].
func (r *CheckedReader) Read(p []byte) (int, error) {
	if r.verdict != nil {
		return 0, r.verdict
	}
	n, err := r.BlobReader.Read(p)
	r.position += int64(n)
	if r.sum == nil {
		return n, err
	}
	r.sum.Write(p[:n]) // never fails
	switch size := r.Info().Size; {
	case errors.Is(err, ErrDamaged):
		r.verdict = err
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	case r.position > size || (r.position < size && err != nil):
		r.verdict = fmt.Errorf("read blob %q: %w: it ends at %d bytes of %d", r.Info().Key, ErrDamaged, r.position, size)
	case r.position < size || (n == 0 && size > 0): // not at the end, or compared by the Read before
		return n, err
	case hex.EncodeToString(r.sum.Sum(nil)) != r.digest:
		r.verdict = fmt.Errorf("read blob %q: %w: it has the SHA-256 %x, not %s", r.Info().Key, ErrDamaged, r.sum.Sum(nil), r.digest)
	}
	r.checked(r.verdict)
	if r.verdict != nil {
		return 0, r.verdict
	}
	return n, err
}

// Seek implements [io.Seeker].
func (r *CheckedReader) Seek(offset int64, whence int) (int64, error) {
	to, err := r.BlobReader.Seek(offset, whence)
	switch {
	case err != nil || to == r.position:
	case to == 0:
		r.position, r.sum, r.verdict = 0, sha256.New(), nil
	default:
		r.position, r.sum, r.verdict = to, nil, nil
	}
	return to, err
}
