package flcollect

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
)

// identity returns the name under which the reputation of a client is kept. The text
// before its colon is the source of the name:
//
//	key      the SHA-256 of the public key of its verified certificate (RFC 5280,
//	         SubjectPublicKeyInfo), which a renewal may keep
//	name     the result of [Config].Identify
//	session  the name of its session, without TLS its address and port: a client that
//	         reconnects has another
//
// It is at most [excerpt.MaxClient] bytes of visible text; other names are digests.
func (l *lobby) identity(session *flower.Session) string {
	if chain := session.Peer().Certificates; len(chain) > 0 {
		sum := sha256.Sum256(chain[0].RawSubjectPublicKeyInfo)
		return "key:" + hex.EncodeToString(sum[:])
	}
	if l.identify != nil {
		if name := l.identify(session); name != "" {
			return "name:" + visible(name)
		}
	}
	return "session:" + visible(session.ID())
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
