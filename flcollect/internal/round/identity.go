package round

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"unicode"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
)

// Identity returns the name under which the reputation of a client is kept. The text
// before its colon is the source of the name:
//
//	key      the SHA-256 of the public key of its verified certificate (RFC 5280,
//	         SubjectPublicKeyInfo), which a renewal may keep
//	name     the result of identify, if that is not nil
//	session  the name of its session, without TLS its address and port: a client that
//	         reconnects has another
//
// The server that relays a client says which of the first two it has. It is at most
// [excerpt.MaxClient] bytes of visible text; other names are digests.
func Identity(session *flower.Session, identify func(*flower.Session) string) string {
	if relayed := session.Peer().Relay; relayed != nil {
		if relayed.Identity != "" {
			return relayed.Identity
		}
		return "session:" + visible(session.ID())
	}
	if chain := session.Peer().Certificates; len(chain) > 0 {
		sum := sha256.Sum256(chain[0].RawSubjectPublicKeyInfo)
		return "key:" + hex.EncodeToString(sum[:])
	}
	if identify != nil {
		if name := identify(session); name != "" {
			return "name:" + visible(name)
		}
	}
	return "session:" + visible(session.ID())
}

// MemberIdentity returns the name under which the reputation of a SuperNode is kept, in
// the forms of [Identity]: of the key with which it signs, of the name that it was given
// when it was let in, or of its place among the SuperNodes.
func MemberIdentity(name, place string, key *ecdsa.PublicKey) string {
	if key != nil {
		if der, err := x509.MarshalPKIXPublicKey(key); err == nil {
			sum := sha256.Sum256(der)
			return "key:" + hex.EncodeToString(sum[:])
		}
	}
	if name != "" {
		return "name:" + visible(name)
	}
	return "session:" + visible(place)
}

// visible returns a name that fits into a line, or its digest.
func visible(name string) string {
	if len(name) <= excerpt.MaxClient-len("session:") {
		printable := true
		for _, r := range name {
			printable = printable && unicode.IsPrint(r) && r != unicode.ReplacementChar
		}
		if printable {
			return name
		}
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}
