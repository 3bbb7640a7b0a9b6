package modelrepo

import (
	"encoding/hex"
	"hash"

	"github.com/iotenablers/enablers/storage"
)

// Digests are what the sender of content announced about it. A nil one was not
// announced.
type Digests struct {
	// MD5 has 16 bytes, SHA256 32 and SHA512 64.
	MD5, SHA256, SHA512 []byte
}

// mismatch names the first digest that the bytes do not have; empty if none.
func (d Digests) mismatch(info storage.BlobInfo, sha512sum hash.Hash) string {
	switch {
	case d.MD5 != nil && hex.EncodeToString(d.MD5) != info.MD5:
		return "MD5"
	case d.SHA256 != nil && hex.EncodeToString(d.SHA256) != info.SHA256:
		return "SHA-256"
	case d.SHA512 != nil && string(d.SHA512) != string(sha512sum.Sum(nil)):
		return "SHA-512"
	}
	return ""
}
