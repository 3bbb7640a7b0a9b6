package flcollect

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// identify returns what a client is known by from round to round, with what the
// name is worth before a colon:
//
//	key      the SHA-256 of the public key of its verified certificate (RFC 5280,
//	         SubjectPublicKeyInfo), which a renewal may keep
//	name     what [Options].Identify says
//	session  the name of its session, in the clear its address and port: whoever
//	         connects anew is somebody else
//
// It is at most maxClient bytes of visible text; other names are digests.
func (s *Server) identify(session *flower.Session) string {
	if chain := session.Peer().Certificates; len(chain) > 0 {
		sum := sha256.Sum256(chain[0].RawSubjectPublicKeyInfo)
		return "key:" + hex.EncodeToString(sum[:])
	}
	if s.options.Identify != nil {
		if name := s.options.Identify(session); name != "" {
			return "name:" + visible(name)
		}
	}
	return "session:" + visible(session.ID())
}

// visible returns a name that fits into a line, or a digest of it.
func visible(name string) string {
	if len(name) <= maxClient-len("session:") {
		whole := true
		for _, r := range name {
			whole = whole && unicode.IsPrint(r) && r != unicode.ReplacementChar
		}
		if whole {
			return name
		}
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}
