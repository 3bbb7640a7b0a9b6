package s3

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// errDamaged is in every error about an object that does not hold what this
// package writes.
var errDamaged = errors.New("storage/s3: damaged object")

// errBytes is returned for a blob whose bytes are missing.
var errBytes = fmt.Errorf("%w: %w", errDamaged, storage.ErrDamaged)

const (
	formatNow = 1
	// maxSmall is the largest size of a record or note. JSON escapes can make the
	// longest key six times as long.
	maxSmall = 16 << 10
)

// record is the object of a key: it makes a blob visible and names the object
// with its bytes. The JSON is a stored format.
type record struct {
	Format   int       `json:"format"`
	Key      string    `json:"key"`
	Bytes    string    `json:"bytes"` // identifier of the object with the bytes
	Size     int64     `json:"size"`
	MD5      string    `json:"md5"`
	SHA256   string    `json:"sha256"`
	Modified time.Time `json:"modified"`
}

func (r *record) encode() ([]byte, error) {
	r.Format = formatNow
	return json.Marshal(r)
}

// decodeRecord decodes the record of a key.
func decodeRecord(key string, data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%w: record: %w", errDamaged, err)
	}
	switch {
	case r.Format != formatNow:
		return record{}, fmt.Errorf("%w: record has format %d, this version reads %d", errDamaged, r.Format, formatNow)
	case r.Key != key:
		return record{}, fmt.Errorf("%w: record is of the key %.*q", errDamaged, storage.MaxKeyLength, r.Key)
	case !isID(r.Bytes) || r.Size < 0 || !isHex(r.MD5, 16) || !isHex(r.SHA256, 32) || r.Modified.IsZero():
		return record{}, fmt.Errorf("%w: record does not describe a blob", errDamaged)
	}
	return r, nil
}

func (r *record) info() storage.BlobInfo {
	return storage.BlobInfo{Key: r.Key, Size: r.Size, MD5: r.MD5, SHA256: r.SHA256, Modified: r.Modified.UTC()}
}

// note is written before anything that a crash could leave behind: a multipart
// upload, or bytes without a record. The JSON is a stored format.
type note struct {
	Format int    `json:"format"`
	Key    string `json:"key"`
	// Bytes identifies objects of which at most one stays: the one that the
	// key's record names.
	Bytes []string `json:"bytes"`
	// Upload is the multipart upload of the first of them, if there is one.
	Upload string `json:"upload,omitempty"`
}

func (n *note) encode() ([]byte, error) {
	n.Format = formatNow
	return json.Marshal(n)
}

func decodeNote(data []byte) (note, error) {
	var n note
	if err := json.Unmarshal(data, &n); err != nil {
		return note{}, fmt.Errorf("%w: note: %w", errDamaged, err)
	}
	if n.Format != formatNow {
		return note{}, fmt.Errorf("%w: note has format %d, this version reads %d", errDamaged, n.Format, formatNow)
	}
	if storage.ValidKey(n.Key) != nil || len(n.Bytes) == 0 {
		return note{}, fmt.Errorf("%w: note names nothing", errDamaged)
	}
	for _, id := range n.Bytes {
		if !isID(id) {
			return note{}, fmt.Errorf("%w: note names %.40q", errDamaged, id)
		}
	}
	return n, nil
}

// isHex reports whether the text is the lower-case hex of that many bytes.
func isHex(text string, length int) bool {
	data, err := hex.DecodeString(text)
	return err == nil && len(data) == length && hex.EncodeToString(data) == text
}
