package rml

import "io"

// Unpack returns the text of a target, for tests that read back what was
// written.
func Unpack(r io.Reader, t Target) (io.Reader, error) {
	return unpack(r, Source{Compression: t.Compression, Encoding: t.Encoding})
}
