package collector

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/supernode"
)

// maxNodeKeys bounds the file of the keys of SuperNodes, in bytes.
const maxNodeKeys = 16 << 20

// NodeKeys are the public keys of the SuperNodes that may take part, of a file. They can be
// used concurrently. Make them with [OpenNodeKeys].
type NodeKeys struct {
	file string

	mu    sync.Mutex
	names map[keyDigest]string
}

// keyDigest is the SHA-256 of a key's SubjectPublicKeyInfo.
type keyDigest = [sha256.Size]byte

// OpenNodeKeys reads a file of keys: a key a line in the form of OpenSSH, as ssh-keygen -t
// ecdsa writes it, or in PEM. Lines that begin with # say nothing.
func OpenNodeKeys(ctx context.Context, file string) (*NodeKeys, error) {
	k := &NodeKeys{file: file}
	return k, k.Reload(ctx)
}

// Reload reads the file again. While it cannot be used, the keys before hold.
func (k *NodeKeys) Reload(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := os.Open(k.file)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read from
	text, err := io.ReadAll(io.LimitReader(file, maxNodeKeys+1))
	if err == nil && len(text) > maxNodeKeys {
		err = fmt.Errorf("it has more than %d bytes", maxNodeKeys)
	}
	var names map[keyDigest]string
	if err == nil {
		names, err = parseNodeKeys(text)
	}
	if err != nil {
		return fmt.Errorf("read the keys of SuperNodes in %s: %w", k.file, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = names
	return nil
}

// parseNodeKeys returns the names of keys: the comment of one in the form of OpenSSH, if it
// is one word, or else its fingerprint.
func parseNodeKeys(text []byte) (map[keyDigest]string, error) {
	names := map[keyDigest]string{}
	lines := 0
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		lines++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			text = rest
			continue
		}
		var key *ecdsa.PublicKey
		var name string
		var err error
		if bytes.HasPrefix(line, []byte("-----BEGIN ")) {
			begin := lines
			key, rest, err = parsePEM(text)
			lines += bytes.Count(text[:len(text)-len(rest)], []byte("\n")) - 1
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", begin, err)
			}
		} else if key, name, err = parseOpenSSH(string(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", lines, err)
		}
		digest, err := computeDigest(key)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lines, err)
		}
		if name == "" {
			name = "SHA256:" + base64.RawStdEncoding.EncodeToString(digest[:])
		}
		names[digest] = name
		text = rest
	}
	return names, nil
}

func computeDigest(key *ecdsa.PublicKey) (keyDigest, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	return sha256.Sum256(der), err
}

// parsePEM reads the first block of a text, a public key.
func parsePEM(text []byte) (key *ecdsa.PublicKey, rest []byte, err error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, nil, errors.New("the PEM block is damaged")
	}
	if block.Type != "PUBLIC KEY" {
		return nil, nil, fmt.Errorf("the PEM block is a %q, expected a PUBLIC KEY", block.Type)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return nil, nil, fmt.Errorf("the key is a %T, and SuperNodes sign with ECDSA", parsed)
	}
	return key, rest, nil
}

// parseOpenSSH reads a key in the form of OpenSSH (RFC 5656, section 3.1): the algorithm,
// in base64 the algorithm, the curve and the point, each behind its length, and a comment.
func parseOpenSSH(line string) (key *ecdsa.PublicKey, comment string, err error) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return nil, "", errors.New("it is not a key: must be ecdsa-sha2-nistp256 AAAA..., or a block of PEM")
	}
	curves := map[string]elliptic.Curve{"nistp256": elliptic.P256(), "nistp384": elliptic.P384(), "nistp521": elliptic.P521()}
	name, isECDSA := strings.CutPrefix(fields[0], "ecdsa-sha2-")
	curve := curves[name]
	if !isECDSA || curve == nil {
		return nil, "", fmt.Errorf("the key is of the kind %.40q, and SuperNodes sign with ecdsa-sha2-nistp256, -nistp384 or -nistp521",
			fields[0])
	}
	data, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, "", errors.New("the key is not base64")
	}
	for _, want := range []string{fields[0], name} {
		var part []byte
		if part, data, err = sshString(data); err != nil || string(part) != want {
			return nil, "", fmt.Errorf("the key is not one of the kind %q", fields[0])
		}
	}
	point, rest, err := sshString(data)
	if err != nil || len(rest) > 0 {
		return nil, "", errors.New("the key is damaged")
	}
	if key, err = ecdsa.ParseUncompressedPublicKey(curve, point); err != nil {
		return nil, "", fmt.Errorf("the key is damaged: %w", err)
	}
	if len(fields) == 3 && isPlainName(fields[2]) {
		comment = fields[2]
	}
	return key, comment, nil
}

// sshString cuts a string behind its length from the front (RFC 4251, section 5).
func sshString(data []byte) (text, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	length := binary.BigEndian.Uint32(data)
	if data = data[4:]; uint64(length) > uint64(len(data)) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return data[:length], data[length:], nil
}

// isPlainName reports whether a comment can name a client in logs and reports.
func isPlainName(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(text) <= 64
}

// name returns the name of a key, and whether it is in the file.
func (k *NodeKeys) name(key *ecdsa.PublicKey) (string, bool) {
	digest, err := computeDigest(key)
	if err != nil {
		return "", false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	name, known := k.names[digest]
	return name, known
}

// Reasons why a SuperNode is refused. Its log has them, and that of the collector.
var (
	errNodesNeedKeys = errors.New("the collector takes only SuperNodes whose public keys it knows, and has none: " +
		"its operator lists them in a file (-fleet-keys), or accepts every client (-grpc-access none)")
	errNodeUnsigned = errors.New("the collector takes only SuperNodes whose public keys it knows, and this one does not sign its requests: " +
		"start it with --auth-supernode-private-key, from Flower 1.15 on")
	errNodeUnknown = errors.New("the public key of this SuperNode is not in the collector's file of keys (-fleet-keys): " +
		"start it with --auth-supernode-private-key, and have the public key added there")
)

// authorizeNode returns the function of supernode.Config, nil if it accepts every SuperNode.
func (c *Collector) authorizeNode() func(ctx context.Context, caller supernode.Caller) (name string, err error) {
	if c.keys == nil && c.isOpenToNodes() {
		return nil
	}
	return func(_ context.Context, caller supernode.Caller) (string, error) {
		switch {
		case c.keys == nil:
			return "", errNodesNeedKeys
		case caller.PublicKey == nil:
			return "", errNodeUnsigned
		}
		name, known := c.keys.name(caller.PublicKey)
		if !known {
			return "", errNodeUnknown
		}
		return name, nil
	}
}
