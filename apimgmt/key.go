package apimgmt

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// enablerKey is the key of an enabler in storage. Names that differ only in case, or in
// spaces and hyphens, have the same key.
func enablerKey(name string) string { return plain(name) }

// plain is a text in lower case in which everything but letters, digits, "." and
// "_" is one hyphen. The converter changes names in the same way.
func plain(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '_' {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// versionPrefix is what the names of all entities of a version begin with. It is short
// enough for the converter to leave it as it is.
func versionPrefix(key, version string) string {
	name := plain(key + "-" + version)
	const most = 60
	if len(name) <= most {
		return strings.Trim(name, ".")
	}
	sum := sha256.Sum256([]byte(name))
	cut := name[:most]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return strings.Trim(cut, ".-") + "-" + hex.EncodeToString(sum[:4])
}

// ownerPrefix begins the tags that name the enabler of an entity in the gateway.
const ownerPrefix = "enabler:"

func ownerTag(key string) string { return ownerPrefix + key }
