package manager

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate"
)

// SecretLength is the length of the encryption secret in bytes.
const SecretLength = 32

// ErrSecret is returned when stored credentials cannot be opened with the
// secret of the service.
var ErrSecret = errors.New("annotate: stored credentials cannot be decrypted; was the encryption secret changed?")

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
		return sealer{}, fmt.Errorf("manager: Config.Secret: expected %d bytes, got %d", SecretLength, len(secret))
	}
	block, err := aes.NewCipher([]byte(secret))
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal returns the stored form of secrets for the place.
func (s sealer) seal(place string, secrets []annotate.Secret) (string, error) {
	plain, err := encodeSecrets(secrets)
	if err != nil {
		return "", err
	}
	if s.aead == nil {
		return clearMark + string(plain), nil
	}
	sealed := s.aead.Seal(nil, nil, plain, []byte(place))
	return sealedMark + base64.StdEncoding.EncodeToString(sealed), nil
}

// open returns what was sealed for the place. Secrets that were stored in clear,
// before the service had a secret, stay readable.
func (s sealer) open(place, stored string) ([]annotate.Secret, error) {
	var plain []byte
	var err error
	if text, ok := strings.CutPrefix(stored, clearMark); ok {
		plain = []byte(text)
	} else if plain, err = s.decrypt(place, stored); err != nil {
		return nil, err
	}
	return decodeSecrets(plain)
}

// encodeSecrets returns a JSON object with the secrets that are set, in their
// order.
func encodeSecrets(secrets []annotate.Secret) ([]byte, error) {
	object := []byte{'{'}
	for _, secret := range secrets {
		if secret.Value == "" {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		name, err := json.Marshal(secret.Member)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(secret.Value)
		if err != nil {
			return nil, err
		}
		object = append(append(append(object, name...), ':'), value...)
	}
	return append(object, '}'), nil
}

// decodeSecrets reads what encodeSecrets returned.
func decodeSecrets(object []byte) ([]annotate.Secret, error) {
	var values map[string]string
	if err := json.Unmarshal(object, &values); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrSecret, err)
	}
	secrets := make([]annotate.Secret, 0, len(values))
	for _, member := range slices.Sorted(maps.Keys(values)) {
		secrets = append(secrets, annotate.Secret{Member: member, Value: values[member]})
	}
	return secrets, nil
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
