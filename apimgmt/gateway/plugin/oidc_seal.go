package plugin

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// sealer encrypts what a browser keeps for us (XChaCha20-Poly1305, whose nonces
// may be random for any number of messages).
type sealer struct {
	keys []cipher.AEAD // the first one seals
}

// leastSecret is the shortest secret that cookies are sealed with, in bytes.
const leastSecret = 16

// newSealer derives keys of secrets with spaces in between, for one purpose.
func newSealer(secrets, purpose string) (*sealer, error) {
	s := &sealer{}
	for _, secret := range strings.Fields(secrets) {
		if len(secret) < leastSecret {
			return nil, fmt.Errorf("one of less than %d bytes", leastSecret)
		}
		if err := s.add([]byte(secret), purpose); err != nil {
			return nil, err
		}
	}
	if len(s.keys) == 0 {
		return nil, errors.New("there is none")
	}
	return s, nil
}

func (s *sealer) add(secret []byte, purpose string) error {
	key, err := hkdf.Key(sha256.New, secret, nil, "enablers oidc cookies 1 "+purpose, chacha20poly1305.KeySize)
	if err != nil {
		return err
	}
	made, err := chacha20poly1305.NewX(key)
	if err != nil {
		return err
	}
	s.keys = append(s.keys, made)
	return nil
}

// seal encrypts a value for a place: what is sealed for one opens in no other.
func (s *sealer) seal(place string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sealed := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(text)+chacha20poly1305.Overhead)
	_, _ = rand.Read(sealed) // never fails
	return base64.RawURLEncoding.EncodeToString(s.keys[0].Seal(sealed, sealed, text, []byte(place))), nil
}

// open decrypts what was sealed for a place, with any of the keys.
func (s *sealer) open(place, sealed string, into any) bool {
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(data) < chacha20poly1305.NonceSizeX {
		return false
	}
	nonce, data := data[:chacha20poly1305.NonceSizeX], data[chacha20poly1305.NonceSizeX:]
	for _, key := range s.keys {
		if text, err := key.Open(nil, nonce, data, []byte(place)); err == nil {
			return json.Unmarshal(text, into) == nil
		}
	}
	return false
}
