package disk

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// errDamaged is returned for a stored record that this package did not write.
var errDamaged = errors.New("storage/disk: damaged record")

// errBytes is returned for a blob whose bytes are missing or cannot be read.
var errBytes = fmt.Errorf("%w: %w", errDamaged, storage.ErrDamaged)

// A document record is the revision as 8 bytes, big-endian, then the data.
const revisionLength = 8

// encodeDocument returns the record of a document.
func encodeDocument(revision storage.Revision, data []byte) []byte {
	record := make([]byte, 0, revisionLength+len(data))
	record = binary.BigEndian.AppendUint64(record, uint64(revision))
	return append(record, data...)
}

// decodeDocument is the reverse of encodeDocument. The data is a part of the
// record, not a copy.
func decodeDocument(record []byte) (storage.Revision, []byte, error) {
	if len(record) <= revisionLength {
		return 0, nil, fmt.Errorf("%w: document of %d bytes", errDamaged, len(record))
	}
	revision := storage.Revision(binary.BigEndian.Uint64(record))
	if revision == 0 {
		return 0, nil, fmt.Errorf("%w: document at revision 0", errDamaged)
	}
	return revision, record[revisionLength:], nil
}

// contentID names the file with the bytes of a blob. It is random, and the
// zero one is never used.
type contentID [16]byte

// String returns the identifier as 32 lower-case hex digits, which is the name
// of the file.
func (id contentID) String() string { return hex.EncodeToString(id[:]) }

// parseContentID is the reverse of String.
func parseContentID(name string) (id contentID, ok bool) {
	if len(name) != hex.EncodedLen(len(id)) {
		return contentID{}, false
	}
	if _, err := hex.Decode(id[:], []byte(name)); err != nil {
		return contentID{}, false
	}
	return id, id.String() == name
}

// blobRecord names the file with the bytes of a blob and describes them. It is
// stored with a fixed length: identifier, size, MD5, SHA-256, and the time of
// the commit in nanoseconds since 1970; numbers are big-endian. An MD5 of zeros is that
// of a blob without.
type blobRecord struct {
	content  contentID
	size     int64
	md5      [md5.Size]byte
	sha256   [sha256.Size]byte
	modified int64
}

const blobRecordLength = len(contentID{}) + 8 + md5.Size + sha256.Size + 8

// encode returns the stored form.
func (r blobRecord) encode() []byte {
	stored := make([]byte, 0, blobRecordLength)
	stored = append(stored, r.content[:]...)
	stored = binary.BigEndian.AppendUint64(stored, uint64(r.size))
	stored = append(stored, r.md5[:]...)
	stored = append(stored, r.sha256[:]...)
	return binary.BigEndian.AppendUint64(stored, uint64(r.modified))
}

// decodeBlobRecord is the reverse of encode.
func decodeBlobRecord(stored []byte) (blobRecord, error) {
	if len(stored) != blobRecordLength {
		return blobRecord{}, fmt.Errorf("%w: blob of %d bytes, not %d", errDamaged, len(stored), blobRecordLength)
	}
	var r blobRecord
	rest := stored[copy(r.content[:], stored):]
	size := binary.BigEndian.Uint64(rest)
	rest = rest[8:]
	rest = rest[copy(r.md5[:], rest):]
	rest = rest[copy(r.sha256[:], rest):]
	r.modified = int64(binary.BigEndian.Uint64(rest))
	if r.content == (contentID{}) || size > math.MaxInt64 {
		return blobRecord{}, fmt.Errorf("%w: blob without a file or size", errDamaged)
	}
	r.size = int64(size)
	return r, nil
}

// info describes the blob to a caller.
func (r blobRecord) info(key string) storage.BlobInfo {
	info := storage.BlobInfo{
		Key:      key,
		Size:     r.size,
		SHA256:   hex.EncodeToString(r.sha256[:]),
		Modified: time.Unix(0, r.modified).UTC(),
	}
	if r.md5 != [md5.Size]byte{} {
		info.MD5 = hex.EncodeToString(r.md5[:])
	}
	return info
}
