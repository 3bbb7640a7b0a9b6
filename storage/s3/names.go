package s3

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// The parts of the bucket, below the prefix of the store. Their names are a
// stored format.
const (
	recordsPart = "blobs/"   // one record a committed blob, named after its key
	bytesPart   = "bytes/"   // the bytes of one blob, under a random identifier
	uploadsPart = "uploads/" // notes of multipart uploads that have begun
	changesPart = "changes/" // notes of what a commit or delete may leave behind
)

const (
	// segment is how many characters of an encoded key stand between two
	// slashes. File systems, which some servers keep objects in, take 255.
	segment = 200
	// keyEnd ends the name of every record. It is less than the slash and every
	// character of an encoded key, so it keeps the order of keys, and no record
	// is named like a folder of another.
	keyEnd = "!"
)

// keyEncoding keeps the order of bytes, and is not case-sensitive.
func keyEncoding() *base32.Encoding {
	return base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)
}

// recordName returns the name of a key's record: at most 836 bytes.
func recordName(key string) string {
	return recordsPart + segmented(keyEncoding().EncodeToString([]byte(key))) + keyEnd
}

// recordKey returns the key of a record by its name, and false for other names.
func recordKey(name string) (string, bool) {
	encoded, isRecord := strings.CutPrefix(name, recordsPart)
	encoded, isWhole := strings.CutSuffix(encoded, keyEnd)
	if !isRecord || !isWhole {
		return "", false
	}
	key, err := keyEncoding().DecodeString(strings.ReplaceAll(encoded, "/", ""))
	if err != nil || storage.ValidKey(string(key)) != nil || recordName(string(key)) != name {
		return "", false
	}
	return string(key), true
}

// recordRange returns where to look for the keys that start with prefix: their
// names start with common and are greater than after. Other names may match
// too, because a character of the encoding is not a whole byte.
func recordRange(prefix string) (common, after string) {
	encoded := keyEncoding().EncodeToString([]byte(prefix))
	whole := len(prefix) * 8 / 5
	return recordsPart + segmented(encoded[:whole]), recordsPart + segmented(encoded)
}

// segmented puts a slash behind every segment that others follow.
func segmented(encoded string) string {
	var parts []string
	for len(encoded) > segment {
		parts = append(parts, encoded[:segment])
		encoded = encoded[segment:]
	}
	return strings.Join(append(parts, encoded), "/")
}

// newID returns a unique identifier.
func newID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// isID reports whether the text has the form of newID.
func isID(text string) bool { return isHex(text, 16) }
