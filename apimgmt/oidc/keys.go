package oidc

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a key set, and the least size of an RSA key (RFC 7518 section 3.3).
// The greatest keeps verifying cheap.
const (
	maxKeys    = 64
	leastRSA   = 2048
	maxRSABits = 8192
)

// algorithms are the signature algorithms that are accepted, all asymmetric.
func algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// key is one public key and the algorithms that belong to it.
type key struct {
	id         string
	public     any // as go-jose takes it
	algorithms []string
}

// keySet are the keys of an issuer at one time. It never changes.
type keySet struct {
	keys   []key
	digest [sha256.Size]byte // of the document
}

// parseKeys reads a JWK set (RFC 7517 section 5). Keys for other purposes, of
// other types, too small or broken are left out, as the section demands; private
// and symmetric keys are, too.
func parseKeys(text []byte) (*keySet, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("key set: %d keys, of which at most %d are read", len(document.Keys), maxKeys)
	}
	set := &keySet{digest: sha256.Sum256(text)}
	for _, raw := range document.Keys {
		if k, ok := parseKey(raw); ok {
			set.keys = append(set.keys, k)
		}
	}
	if len(set.keys) == 0 {
		return nil, fmt.Errorf("key set: none of %d keys verifies signatures", len(document.Keys))
	}
	return set, nil
}

func parseKey(raw json.RawMessage) (key, bool) {
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(raw); err != nil || (jwk.Use != "" && jwk.Use != "sig") || !jwk.IsPublic() || !jwk.Valid() {
		return key{}, false
	}
	k := key{id: jwk.KeyID, public: jwk.Key, algorithms: keyAlgorithms(jwk.Key)}
	if jwk.Algorithm != "" {
		if !slices.Contains(k.algorithms, jwk.Algorithm) {
			return key{}, false
		}
		k.algorithms = []string{jwk.Algorithm}
	}
	return k, len(k.algorithms) > 0
}

// keyAlgorithms reports what a public key may verify.
func keyAlgorithms(public any) []string {
	switch public := public.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < leastRSA || bits > maxRSABits || public.E < 3 || public.E%2 == 0 {
			return nil
		}
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		switch public.Curve {
		case elliptic.P256():
			return []string{"ES256"}
		case elliptic.P384():
			return []string{"ES384"}
		case elliptic.P521():
			return []string{"ES512"}
		}
	case ed25519.PublicKey:
		if len(public) == ed25519.PublicKeySize {
			return []string{"EdDSA"}
		}
	}
	return nil
}

// find returns the keys by that name. Without a name it returns all that the
// algorithm belongs to (OpenID Connect Core section 10.1 wants a name when there
// are several).
func (s *keySet) find(id, algorithm string) []key {
	var found []key
	for _, k := range s.keys {
		if (id != "" && k.id == id) || (id == "" && slices.Contains(k.algorithms, algorithm)) {
			found = append(found, k)
		}
	}
	return found
}
