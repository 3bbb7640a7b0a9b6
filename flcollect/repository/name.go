package repository

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// MaxName is the greatest length of a name in bytes.
const MaxName = 1024

// slash is the one text that is no name: net/http takes a segment of a path that
// is nothing else for the slash at the end.
const slash = "/"

// longestPart is how long a name in a key may be before it is hashed: three of
// them leave room for a prefix.
const longestPart = 120

// keyPart is a name as a part of a key. Different names are different parts, and
// no part contains a slash.
func keyPart(name string) string {
	if part := url.PathEscape(name); len(part) <= longestPart {
		return part
	}
	sum := sha256.Sum256([]byte(name))
	return "#" + hex.EncodeToString(sum[:]) // PathEscape leaves no such sign
}

// joinKey joins names to the key of a record.
func joinKey(collection string, names ...string) string {
	var key strings.Builder
	key.WriteString(collection)
	for _, name := range names {
		key.WriteByte('/')
		key.WriteString(keyPart(name))
	}
	return key.String()
}
