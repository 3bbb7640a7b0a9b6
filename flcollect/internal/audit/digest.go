package audit

import "github.com/iotenablers/enablers/flcollect/flower"

// Digest returns the SHA-256 of parameters in hexadecimal, [flower.Parameters.Digest].
func Digest(p flower.Parameters) string { return p.Digest() }
