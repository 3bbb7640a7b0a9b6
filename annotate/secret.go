package annotate

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// SecretLength is the length of the encryption secret in bytes.
const SecretLength = 32

// ErrSecret is returned when stored credentials cannot be opened with the
// secret of the service.
var ErrSecret = errors.New("annotate: stored credentials cannot be decrypted; was the encryption secret changed?")

// credentials are what must not be read by everybody who can read a stored
// channel.
type credentials struct {
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// sealer encrypts credentials with AES-256-GCM (NIST SP 800-38D) under the
// service's secret, each with a random nonce and bound to its place. The zero
// sealer has no secret and keeps them in clear, marked as such.
type sealer struct{ aead cipher.AEAD }

// Marks of the stored forms.
const (
	sealedMark = "aes-256-gcm:"
	clearMark  = "clear:"
)

func newSealer(secret string) (sealer, error) {
	if secret == "" {
		return sealer{}, nil
	}
	if len(secret) != SecretLength {
		return sealer{}, fmt.Errorf("annotate: Config.Secret: expected %d bytes, got %d", SecretLength, len(secret))
	}
	block, err := aes.NewCipher([]byte(secret))
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal returns the stored form of credentials for the place.
func (s sealer) seal(place string, c credentials) (string, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	if s.aead == nil {
		return clearMark + string(plain), nil
	}
	sealed := s.aead.Seal(nil, nil, plain, []byte(place))
	return sealedMark + base64.StdEncoding.EncodeToString(sealed), nil
}

// open returns what was sealed for the place. Credentials that were stored in
// clear, before there was a secret, stay readable.
func (s sealer) open(place, stored string) (c credentials, err error) {
	var plain []byte
	if text, ok := strings.CutPrefix(stored, clearMark); ok {
		plain = []byte(text)
	} else if plain, err = s.decrypt(place, stored); err != nil {
		return c, err
	}
	if err := json.Unmarshal(plain, &c); err != nil {
		return c, fmt.Errorf("%w (%w)", ErrSecret, err)
	}
	return c, nil
}

// isClear reports whether a stored form is one in clear.
func isClear(stored string) bool { return strings.HasPrefix(stored, clearMark) }

func (s sealer) decrypt(place, stored string) ([]byte, error) {
	text, ok := strings.CutPrefix(stored, sealedMark)
	if !ok {
		return nil, fmt.Errorf("%w (unknown form)", ErrSecret)
	}
	if s.aead == nil {
		return nil, fmt.Errorf("%w (this service has no secret)", ErrSecret)
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrSecret, err)
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, ErrSecret
	}
	return plain, nil
}
