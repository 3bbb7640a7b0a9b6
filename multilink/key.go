package multilink

import (
	"crypto/ecdh"
	"encoding/base64"
	"fmt"
	"log/slog"
)

// Key is a Curve25519 key, or a secret of the same length.
type Key [32]byte

// ParseKey reads a key in base64, the form that WireGuard's tools use.
func ParseKey(s string) (Key, error) {
	var k Key
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(k) {
		return Key{}, fmt.Errorf("parse key: must be 32 bytes in base64: %w", ErrInvalid)
	}
	return Key(b), nil
}

// IsZero reports whether k is the zero key.
func (k Key) IsZero() bool { return k == Key{} }

// Base64 returns the form that ParseKey reads. It shows the key: call it only where that
// is intended.
func (k Key) Base64() string { return base64.StdEncoding.EncodeToString(k[:]) }

// String hides the key, so that no log shows a secret.
func (k Key) String() string { return "(key)" }

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// LogValue hides the key from structured logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// PublicKey returns the public half of the private key k.
func (k Key) PublicKey() (Key, error) {
	private, err := ecdh.X25519().NewPrivateKey(k[:])
	if err != nil {
		return Key{}, fmt.Errorf("derive public key: %w", err)
	}
	return Key(private.PublicKey().Bytes()), nil
}
