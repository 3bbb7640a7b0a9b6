package devidp

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

const (
	signingKey = "signing" // the document
	keyBits    = 2048
	// overlap is how long a key that signs no more is published: longer than
	// any token it signed is good, and than a session lasts by default, so that
	// its ID token still logs out.
	overlap = 12 * time.Hour
	maxKeys = 8
)

// ring are the keys of the signatures, and the secret of refresh tokens. It is
// safe for concurrent use.
type ring struct {
	docs storage.Documents
	age  time.Duration

	mu       sync.Mutex
	keys     []signer // the last one signs
	secret   []byte   // of HS512
	revision storage.Revision
	unknown  keep.Members // of the document
}

// signer is one key pair.
type signer struct {
	Key     jose.JSONWebKey `json:"key" keep:"key"` // private
	Created time.Time       `json:"created"`
	Retired time.Time       `json:"retired,omitzero"` // zero for the one that signs
}

// ringDocument is how a ring is stored.
type ringDocument struct {
	Keys   []signer `json:"keys"`
	Secret []byte   `json:"secret"`
}

// openRing reads the keys, or makes the first.
func openRing(ctx context.Context, docs storage.Documents, age time.Duration) (*ring, error) {
	r := &ring{docs: docs, age: age}
	document, err := docs.Get(ctx, signingKey)
	if errors.Is(err, storage.ErrNotFound) {
		r.secret = make([]byte, 64)
		_, _ = rand.Read(r.secret) // never fails
		return r, r.rotate(ctx, time.Now())
	}
	if err != nil {
		return nil, err
	}
	var stored ringDocument
	unknown, err := keep.Unmarshal(document.Data, &stored)
	if err != nil || len(stored.Keys) == 0 || len(stored.Secret) < 64 {
		return nil, fmt.Errorf("read %q: broken: %w", signingKey, err)
	}
	r.keys, r.secret, r.revision, r.unknown = stored.Keys, stored.Secret, document.Revision, unknown
	return r, nil
}

// rotate makes a new key that signs from now on. Old ones are dropped when their
// time is over.
func (r *ring) rotate(ctx context.Context, now time.Time) error {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return fmt.Errorf("make signing key: %w", err)
	}
	added := signer{Key: jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"}, Created: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.add(ctx, added, now)
}

// add stores the keys with a new one. The caller holds the lock.
func (r *ring) add(ctx context.Context, added signer, now time.Time) error {
	var keys []signer
	for _, old := range r.keys {
		if old.Retired.IsZero() {
			old.Retired = now
		}
		if now.Sub(old.Retired) < overlap {
			keys = append(keys, old)
		}
	}
	keys = append(keys, added)
	keys = keys[max(0, len(keys)-maxKeys):]
	data, unknown, err := r.unknown.MarshalKept(ringDocument{Keys: keys, Secret: r.secret})
	if err != nil {
		return fmt.Errorf("write %q: %w", signingKey, err)
	}
	var revision storage.Revision
	if len(r.keys) == 0 {
		revision, err = r.docs.Create(ctx, signingKey, data)
	} else {
		revision, err = r.docs.Update(ctx, signingKey, r.revision, data)
	}
	if err != nil {
		return err
	}
	r.keys, r.revision, r.unknown = keys, revision, unknown
	return nil
}

// current returns the key that signs, a new one when the old one is too old.
func (r *ring) current(ctx context.Context, now time.Time) (jose.JSONWebKey, error) {
	r.mu.Lock()
	last := r.keys[len(r.keys)-1]
	r.mu.Unlock()
	if now.Sub(last.Created) < r.age {
		return last.Key, nil
	}
	if err := r.rotate(ctx, now); err != nil {
		return last.Key, nil // the old one is as good; the next token tries again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[len(r.keys)-1].Key, nil
}

// public returns the keys that verify, the one that signs first.
func (r *ring) public(now time.Time) jose.JSONWebKeySet {
	r.mu.Lock()
	defer r.mu.Unlock()
	var set jose.JSONWebKeySet
	for i := len(r.keys) - 1; i >= 0; i-- {
		if k := r.keys[i]; k.Retired.IsZero() || now.Sub(k.Retired) < overlap {
			set.Keys = append(set.Keys, k.Key.Public())
		}
	}
	return set
}

// sign makes a token with the current key.
func (r *ring) sign(ctx context.Context, claims any) (string, error) {
	key, err := r.current(ctx, time.Now())
	if err != nil {
		return "", err
	}
	return signed(jose.SigningKey{Algorithm: jose.RS256, Key: key}, claims)
}

// seal makes a token that only this provider reads.
func (r *ring) seal(claims any) (string, error) {
	return signed(jose.SigningKey{Algorithm: jose.HS512, Key: r.secret}, claims)
}

func signed(with jose.SigningKey, claims any) (string, error) {
	text, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	s, err := jose.NewSigner(with, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	object, err := s.Sign(text)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return object.CompactSerialize()
}

// errToken is returned for what is no token of ours.
var errToken = errors.New("devidp: not a token of this provider")

// open reads a token of sign into claims, and checks nothing but the signature.
func (r *ring) open(token string, claims any) error {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return errToken
	}
	for _, key := range r.public(time.Now()).Keys {
		if key.KeyID != object.Signatures[0].Protected.KeyID {
			continue
		}
		if text, err := object.Verify(key); err == nil && json.Unmarshal(text, claims) == nil {
			return nil
		}
	}
	return errToken
}

// unseal reads a token of seal into claims.
func (r *ring) unseal(token string, claims any) error {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS512})
	if err != nil {
		return errToken
	}
	text, err := object.Verify(r.secret)
	if err != nil || json.Unmarshal(text, claims) != nil {
		return errToken
	}
	return nil
}
