package wire

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
)

// ParseDigests reads the values of a Content-MD5 field (RFC 1864) and of a Repr-Digest
// field (RFC 9530), each empty if there is none. It knows the algorithms sha-256,
// sha-512 and md5, and refuses a Repr-Digest field without any of them, because the
// digest would not be verified. The error matches [modelrepo.ErrInvalid].
func ParseDigests(contentMD5, reprDigest string) (modelrepo.Digests, error) {
	var d modelrepo.Digests
	if contentMD5 = strings.TrimSpace(contentMD5); contentMD5 != "" {
		sum, err := base64.StdEncoding.Strict().DecodeString(contentMD5)
		if err != nil || len(sum) != md5.Size {
			return modelrepo.Digests{}, fmt.Errorf("parse Content-MD5 %.100q: %w: expected the base64 form of 16 bytes",
				contentMD5, modelrepo.ErrInvalid)
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
			return modelrepo.Digests{}, fmt.Errorf("parse Repr-Digest %.200q: %w: %w", reprDigest,
				modelrepo.ErrInvalid, err)
		}
		known = known || size > 0
	}
	if !known {
		return modelrepo.Digests{}, fmt.Errorf(
			"parse Repr-Digest %.200q: %w: none of its algorithms is known; use sha-256, sha-512 or md5",
			reprDigest, modelrepo.ErrInvalid)
	}
	return d, nil
}

// reprSum reads one member of a Repr-Digest field: a byte sequence between colons (RFC
// 8941 section 3.3.5), whose parameters are ignored. An unknown algorithm has size 0.
func reprSum(d *modelrepo.Digests, algorithm, value string) (size int, err error) {
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

// MergeDigests returns the digests of both, or an error that matches
// [modelrepo.ErrInvalid] if they contradict each other.
func MergeDigests(d, other modelrepo.Digests) (modelrepo.Digests, error) {
	for _, pair := range []struct {
		name      string
		one, more *[]byte
	}{{"MD5", &d.MD5, &other.MD5}, {"SHA-256", &d.SHA256, &other.SHA256}, {"SHA-512", &d.SHA512, &other.SHA512}} {
		switch {
		case *pair.more == nil:
		case *pair.one == nil:
			*pair.one = *pair.more
		case string(*pair.one) != string(*pair.more):
			return modelrepo.Digests{}, fmt.Errorf("%w: two different %s digests are announced", modelrepo.ErrInvalid,
				pair.name)
		}
	}
	return d, nil
}

// UploadDigest is the header field with the digests of what an upload stored, in the
// form of Repr-Digest. Repr-Digest itself would be the digest of the answer (RFC 9530
// section 3).
const UploadDigest = "X-Upload-Digest"

// FormatDigests returns the digests in the form of a Repr-Digest field, or "" without
// any.
func FormatDigests(d modelrepo.Digests) string {
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

// FileDigests returns the known digests of a file.
func FileDigests(f modelrepo.File) modelrepo.Digests {
	known := func(text string) []byte {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) == 0 {
			return nil
		}
		return sum
	}
	return modelrepo.Digests{MD5: known(f.MD5), SHA256: known(f.SHA256)}
}
