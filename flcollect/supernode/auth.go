package supernode

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Headers of a signed request, after "Flwr-". Over gRPC, those of binary values end in "-bin".
const (
	publicKeyHeader = "Public-Key"
	signatureHeader = "Signature"
	timestampHeader = "Timestamp"
	versionHeader   = "Flwr-Package-Version"
)

// The tolerances of a timestamp are Flower's: 300 s, and 5 s for the difference of clocks.
const (
	oldestSignature = 305 * time.Second
	newestSignature = 5 * time.Second
)

// maxKey bounds a public key and a signature in bytes. A key of P-521 has 268 in PEM, and
// a signature 139.
const maxKey = 1024

// nodeKey is the public key of a SuperNode.
type nodeKey struct {
	public *ecdsa.PublicKey
	pem    string // as the SuperNode sends it
	id     uint64 // of the node
}

// keyring parses public keys, and remembers those with which a signature was verified. The
// size bounds how many.
type keyring struct {
	size int
	mu   sync.Mutex
	keys map[string]*nodeKey // by PEM
}

func (k *keyring) get(text string) (*nodeKey, bool, error) {
	k.mu.Lock()
	known := k.keys[text]
	k.mu.Unlock()
	if known != nil {
		return known, true, nil
	}
	made, err := parseKey(text)
	return made, false, err
}

func (k *keyring) remember(key *nodeKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil {
		k.keys = map[string]*nodeKey{}
	}
	for other := range k.keys { // in no order
		if len(k.keys) < k.size {
			break
		}
		delete(k.keys, other)
	}
	k.keys[key.pem] = key
}

func parseKey(text string) (*nodeKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("the public key is not PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the public key is malformed: %w", err)
	}
	public, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the public key is a %T, expected one for ECDSA", parsed)
	}
	id, err := NodeID(public)
	return &nodeKey{public, text, id}, err
}

// NodeID returns the number of the node with that public key, which is never 0: the
// first eight bytes of the SHA-256 of "flcollect supernode", a zero byte and the key's
// SubjectPublicKeyInfo. A node is thereby known again after a restart of the server.
func NodeID(key *ecdsa.PublicKey) (uint64, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return 0, fmt.Errorf("identify the node: %w", err)
	}
	sum := sha256.Sum256(append([]byte("flcollect supernode\x00"), der...))
	for at := 0; at < len(sum); at += 8 {
		// The number of the server among the nodes is 1.
		if id := binary.BigEndian.Uint64(sum[at:]); id > 1 {
			return id, nil
		}
	}
	return 0, errors.New("identify the node: the key has no number")
}

// errUnsigned is returned for a request without a signature.
var errUnsigned = errors.New("the request is not signed")

// verify returns the key with which a request is signed.
func (k *keyring) verify(header http.Header, binary bool, now time.Time) (*nodeKey, error) {
	prefix, suffix := "Flwr-", ""
	if binary {
		suffix = "-Bin"
		if header.Get(prefix+publicKeyHeader+suffix) == "" {
			prefix = "" // as in Flower 1.15
		}
	}
	key, signature, stamp := header.Get(prefix+publicKeyHeader+suffix), header.Get(prefix+signatureHeader+suffix),
		header.Get(prefix+timestampHeader)
	if key == "" && signature == "" {
		return nil, errUnsigned
	}
	text, err := decodeBinary(key)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	signed, err := decodeBinary(signature)
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || len(stamp) > len(time.RFC3339Nano) {
		return nil, errors.New("the timestamp is malformed")
	}
	public, known, err := k.get(string(text))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(stamp))
	if !ecdsa.VerifyASN1(public.public, sum[:], signed) {
		return nil, errors.New("the signature does not match")
	}
	if age := now.Sub(at); age >= oldestSignature || age <= -newestSignature {
		return nil, fmt.Errorf("the clock of the SuperNode and that of the collector differ by %v", age.Round(time.Second))
	}
	if !known {
		k.remember(public)
	}
	return public, nil
}

// decodeBinary decodes a binary header: base64 with or without padding.
func decodeBinary(text string) ([]byte, error) {
	if len(text) > base64.StdEncoding.EncodedLen(maxKey) {
		return nil, fmt.Errorf("it has %d characters, at most %d are read", len(text), base64.StdEncoding.EncodedLen(maxKey))
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	return data, nil
}
