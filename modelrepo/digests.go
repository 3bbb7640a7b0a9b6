package modelrepo

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// Digests are what the sender of content announced about it. A nil one was not
// announced.
type Digests struct {
	// MD5 has 16 bytes, SHA256 32 and SHA512 64.
	MD5, SHA256, SHA512 []byte
}

// ParseDigests reads the values of a Content-MD5 field (RFC 1864) and of a
// Repr-Digest field (RFC 9530), each empty if there is none. Of Repr-Digest the
// algorithms sha-256, sha-512 and md5 are known; a field that has no other is
// refused, because the sender would believe that it was checked. The error
// matches [ErrInvalid].
func ParseDigests(contentMD5, reprDigest string) (Digests, error) {
	var d Digests
	if contentMD5 = strings.TrimSpace(contentMD5); contentMD5 != "" {
		sum, err := base64.StdEncoding.Strict().DecodeString(contentMD5)
		if err != nil || len(sum) != md5.Size {
			return Digests{}, fmt.Errorf("parse Content-MD5 %.100q: %w: expected the base64 form of 16 bytes", contentMD5, ErrInvalid)
		}
		d.MD5 = sum
	}
	if strings.TrimSpace(reprDigest) == "" {
		return d, nil
	}
	known := false
	for member := range strings.SplitSeq(reprDigest, ",") {
		algorithm, value, _ := strings.Cut(strings.Trim(member, " \t"), "=")
		size, err := reprSum(&d, algorithm, value)
		if err != nil {
			return Digests{}, fmt.Errorf("parse Repr-Digest %.200q: %w: %w", reprDigest, ErrInvalid, err)
		}
		known = known || size > 0
	}
	if !known {
		return Digests{}, fmt.Errorf("parse Repr-Digest %.200q: %w: none of its algorithms is known; use sha-256, sha-512 or md5", reprDigest, ErrInvalid)
	}
	return d, nil
}

// reprSum reads one member of a Repr-Digest field: a byte sequence between
// colons (RFC 8941 section 3.3.5), whose parameters mean nothing. An algorithm
// that is not known has size 0.
func reprSum(d *Digests, algorithm, value string) (size int, err error) {
	var sum *[]byte
	switch algorithm {
	case "sha-256":
		sum, size = &d.SHA256, sha256.Size
	case "sha-512":
		sum, size = &d.SHA512, sha512.Size
	case "md5":
		sum, size = &d.MD5, md5.Size
	case "":
		return 0, fmt.Errorf("a member has no name")
	default:
		return 0, nil
	}
	text, opened := strings.CutPrefix(value, ":")
	text, rest, closed := strings.Cut(text, ":")
	decoded, err := base64.StdEncoding.DecodeString(text)
	if !opened || !closed || rest != "" && rest[0] != ';' || err != nil || len(decoded) != size {
		return 0, fmt.Errorf("the value of %s is not the base64 form of %d bytes between colons", algorithm, size)
	}
	if *sum != nil && string(*sum) != string(decoded) {
		return 0, fmt.Errorf("%s is announced twice, differently", algorithm)
	}
	*sum = decoded
	return size, nil
}

// And returns what both announce, or an error that matches [ErrInvalid] if they
// contradict each other.
func (d Digests) And(other Digests) (Digests, error) {
	for _, pair := range []struct {
		name      string
		one, more *[]byte
	}{{"MD5", &d.MD5, &other.MD5}, {"SHA-256", &d.SHA256, &other.SHA256}, {"SHA-512", &d.SHA512, &other.SHA512}} {
		switch {
		case *pair.more == nil:
		case *pair.one == nil:
			*pair.one = *pair.more
		case string(*pair.one) != string(*pair.more):
			return Digests{}, fmt.Errorf("%w: two different %s digests are announced", ErrInvalid, pair.name)
		}
	}
	return d, nil
}

// uploadDigest is the header field of the answer to an upload that has the digests
// of what was stored, in the form of Repr-Digest. That field itself would be about
// the answer's own body (RFC 9530 section 3).
const uploadDigest = "X-Upload-Digest"

// field returns the digests in the form of a Repr-Digest field; empty without any.
func (d Digests) field() string {
	var members []string
	for _, one := range []struct {
		algorithm string
		sum       []byte
	}{{"sha-256", d.SHA256}, {"sha-512", d.SHA512}, {"md5", d.MD5}} {
		if one.sum != nil {
			members = append(members, one.algorithm+"=:"+base64.StdEncoding.EncodeToString(one.sum)+":")
		}
	}
	return strings.Join(members, ", ")
}

// digests returns those of the file that are known.
func (f File) digests() Digests {
	known := func(text string) []byte {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) == 0 {
			return nil
		}
		return sum
	}
	return Digests{MD5: known(f.MD5), SHA256: known(f.SHA256)}
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
