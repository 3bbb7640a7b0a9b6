// Package password keeps passwords as hashes of argon2id.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a hash, as OWASP recommends for argon2id: 19 MiB, two passes.
const (
	argonMemory = 19 << 10 // KiB
	argonPasses = 2
	argonLanes  = 1
	argonSalt   = 16
	argonKey    = 32
)

// Longest is the greatest length of a password, in bytes, which bounds the work before the
// hash.
const Longest = 1024

// Hasher hashes passwords, two at a time, since each takes 19 MiB of memory. It is created
// with New and is safe for concurrent use.
type Hasher struct {
	turns chan struct{}
	decoy string // looks like a hash and is that of no password, to compare with where there is no user
}

// New returns a hasher.
func New() *Hasher {
	drawn := make([]byte, argonSalt+argonKey)
	_, _ = rand.Read(drawn) // never fails
	return &Hasher{turns: make(chan struct{}, 2), decoy: write(drawn[:argonSalt], drawn[argonSalt:])}
}

// Hash returns the hash in the form of the PHC string format. The error is the
// context's.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	key, err := h.derive(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return write(salt, key), nil
}

// prefix begins each hash: the algorithm and its cost.
func prefix() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonPasses, argonLanes)
}

func write(salt, key []byte) string {
	return prefix() + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

func (h *Hasher) derive(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, argonKey), nil
}

// Matches compares a password with a hash. An empty hash, of an unknown user, takes as
// long as any other and never matches.
func (h *Hasher) Matches(ctx context.Context, password, hash string) (bool, error) {
	unknown := hash == ""
	if unknown {
		hash = h.decoy
	}
	salt, want, err := parseHash(hash)
	if err != nil {
		return false, err
	}
	got, err := h.derive(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && !unknown, nil
}

// parseHash reads a hash that this package wrote.
func parseHash(hash string) (salt, key []byte, err error) {
	rest, ok := strings.CutPrefix(hash, prefix())
	encodedSalt, encodedKey, both := strings.Cut(rest, "$")
	if !ok || !both {
		return nil, nil, errors.New("password hash: not one that was written here")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(encodedSalt); err != nil || len(salt) != argonSalt {
		return nil, nil, errors.New("password hash: broken salt")
	}
	if key, err = base64.RawStdEncoding.DecodeString(encodedKey); err != nil || len(key) != argonKey {
		return nil, nil, errors.New("password hash: broken key")
	}
	return salt, key, nil
}
