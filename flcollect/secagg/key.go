package secagg

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxKey bounds the bytes of a key in PEM.
const maxKey = 2048

// The types of the PEM blocks that Flower uses.
const (
	publicBlock  = "PUBLIC KEY"
	privateBlock = "PRIVATE KEY"
)

// newKey draws a key on secp384r1 and returns it with its public part in PEM.
func newKey() (private *ecdh.PrivateKey, public []byte, err error) {
	if private, err = ecdh.P384().GenerateKey(rand.Reader); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(private.PublicKey())
	if err != nil {
		return nil, nil, err
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}), nil
}

// encodePrivate returns a key in PEM, as PKCS #8.
func encodePrivate(key *ecdh.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// parsePublic reads a public key on secp384r1 in PEM.
func parsePublic(data []byte) (*ecdh.PublicKey, error) {
	der, err := block(data, publicBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("a public key is a %T; an elliptic curve's is needed", parsed)
	}
	public, err := key.ECDH()
	if err != nil {
		return nil, err
	}
	if public.Curve() != ecdh.P384() {
		return nil, fmt.Errorf("a public key is on the curve %v; it must be on secp384r1", public.Curve())
	}
	return public, nil
}

// parsePrivate reads a private key on secp384r1 in PEM, PKCS #8.
func parsePrivate(data []byte) (*ecdh.PrivateKey, error) {
	der, err := block(data, privateBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a private key is a %T; an elliptic curve's is needed", parsed)
	}
	private, err := key.ECDH()
	if err != nil {
		return nil, err
	}
	if private.Curve() != ecdh.P384() {
		return nil, fmt.Errorf("a private key is on the curve %v; it must be on secp384r1", private.Curve())
	}
	return private, nil
}

// block returns the contents of the one PEM block of a type that data are.
func block(data []byte, kind string) ([]byte, error) {
	if len(data) > maxKey {
		return nil, fmt.Errorf("a key has %d bytes; %d are allowed", len(data), maxKey)
	}
	found, rest := pem.Decode(data)
	switch {
	case found == nil:
		return nil, errors.New("a key is not in PEM")
	case found.Type != kind:
		return nil, fmt.Errorf("a PEM block is of type %q; %q is needed", found.Type, kind)
	case len(rest) > 0:
		return nil, errors.New("something follows the PEM block of a key")
	}
	return found.Bytes, nil
}

// agreeKey returns the key that two clients share, as Flower's derive it: ECDH,
// then HKDF with SHA-256 (RFC 5869) without salt and info, then base64. All
// 44 characters are the seed of a mask, or the key of Fernet.
func agreeKey(private *ecdh.PrivateKey, public *ecdh.PublicKey) ([]byte, error) {
	secret, err := private.ECDH(public)
	if err != nil {
		return nil, err
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "", 32)
	if err != nil {
		return nil, err
	}
	return base64.URLEncoding.AppendEncode(nil, derived), nil
}
