package devidp

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
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
	// overlap is the time for which a key that signs no more is published: longer than
	// any token it signed is good, and than a session lasts by default, so that
	// its ID token still logs out.
	overlap = 12 * time.Hour
	maxKeys = 8
	// rereadAfter is how old what was read may be when a token is signed.
	rereadAfter = time.Minute
)

// ring are the keys of the signatures, and the secret of refresh tokens. It is
// safe for concurrent use.
type ring struct {
	docs storage.Documents

	asking chan struct{} // is full while refresh reads

	mu     sync.Mutex
	stored storedRing
	read   time.Time // when it was last read
	asked  refreshed // what refresh did last
}

// refreshed is what a read for requests came to.
type refreshed struct {
	begun time.Time
	err   error
}

// storedRing is what was read. It is never changed.
type storedRing struct {
	ringDocument
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

// openRing reads the keys, or creates the first. Of several instances that open it at once, one
// creates them.
func openRing(ctx context.Context, docs storage.Documents) (*ring, error) {
	r := &ring{docs: docs, asking: make(chan struct{}, 1)}
	err := r.reread(ctx)
	if !errors.Is(err, storage.ErrNotFound) {
		return r, err
	}
	secret := make([]byte, 64)
	_, _ = rand.Read(secret) // never fails
	added, err := newSigner(time.Now())
	if err != nil {
		return nil, err
	}
	err = r.add(ctx, storedRing{ringDocument: ringDocument{Secret: secret}}, added, time.Now())
	if storage.Overtaken(err) {
		err = r.reread(ctx)
	}
	return r, err
}

// reread reads what is stored. Where nothing has changed the times of the keys stay those
// that this process has noted, which a clock that is set does not move.
func (r *ring) reread(ctx context.Context) error {
	document, err := r.docs.Get(ctx, signingKey)
	if err != nil {
		return err
	}
	r.mu.Lock()
	known := document.Revision == r.stored.revision
	if known {
		r.read = time.Now()
	}
	r.mu.Unlock()
	if known {
		return nil
	}
	read := storedRing{revision: document.Revision}
	if read.unknown, err = keep.Unmarshal(document.Data, &read.ringDocument); err != nil {
		return fmt.Errorf("read %q: broken: %w", signingKey, err)
	}
	if len(read.Keys) == 0 || len(read.Secret) < 64 {
		return fmt.Errorf("read %q: broken: it has no keys or no secret", signingKey)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored, r.read = read, time.Now()
	return nil
}

// refresh is reread for requests of anyone: one reads at a time, for all that wait meanwhile.
func (r *ring) refresh(ctx context.Context) error {
	came := time.Now()
	select {
	case r.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.asking }()
	r.mu.Lock()
	last := r.asked
	r.mu.Unlock()
	if last.begun.After(came) {
		return last.err
	}
	made := refreshed{begun: time.Now()}
	made.err = r.reread(ctx)
	if ctx.Err() != nil {
		return made.err // of this request alone
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = made
	return made.err
}

// now returns the keys as they were last read.
func (r *ring) now() storedRing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored
}

func newSigner(now time.Time) (signer, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return signer{}, fmt.Errorf("create signing key: %w", err)
	}
	return signer{Key: jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"}, Created: now}, nil
}

// rotate creates a new key that signs from now on, unless another instance has created one that is
// younger than least: zero creates one in any case. Old ones are dropped when their time is over.
func (r *ring) rotate(ctx context.Context, least time.Duration) error {
	added, err := newSigner(time.Now())
	if err != nil {
		return err
	}
	return storage.Retry(ctx, func() (again bool, err error) {
		if err := r.reread(ctx); err != nil {
			return false, err
		}
		base, now := r.now(), time.Now()
		if now.Sub(base.last().Created) < least {
			return false, nil
		}
		added.Created = now
		err = r.add(ctx, base, added, now)
		return storage.Overtaken(err), err
	})
}

// add stores the keys with a new one.
func (r *ring) add(ctx context.Context, to storedRing, added signer, now time.Time) error {
	var keys []signer
	for _, old := range to.Keys {
		if old.Retired.IsZero() {
			old.Retired = now
		}
		if now.Sub(old.Retired) < overlap {
			keys = append(keys, old)
		}
	}
	keys = append(keys, added)
	next := storedRing{ringDocument: ringDocument{Keys: keys[max(0, len(keys)-maxKeys):], Secret: to.Secret}}
	data, unknown, err := to.unknown.MarshalKept(next.ringDocument)
	if err != nil {
		return fmt.Errorf("write %q: %w", signingKey, err)
	}
	if to.revision == 0 {
		next.revision, err = r.docs.Create(ctx, signingKey, data)
	} else {
		next.revision, err = r.docs.Update(ctx, signingKey, to.revision, data)
	}
	if err != nil {
		return err
	}
	next.unknown = unknown
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored, r.read = next, time.Now()
	return nil
}

// last returns the key that signs.
func (s *storedRing) last() signer { return s.Keys[len(s.Keys)-1] }

// current returns the key that signs, a new one when the old one is too old. What another
// instance has made is noticed after a minute, long before its old key is published no more.
func (r *ring) current(ctx context.Context, now time.Time) jose.JSONWebKey {
	r.mu.Lock()
	read := r.read
	r.mu.Unlock()
	if now.Sub(read) >= rereadAfter {
		_ = r.refresh(ctx) // the old one is as good; the next token tries again
	}
	stored := r.now()
	if last := stored.last(); now.Sub(last.Created) < keyAge || r.rotate(ctx, keyAge) != nil {
		return last.Key // likewise
	}
	stored = r.now()
	return stored.last().Key
}

// public returns the keys that verify, the one that signs first.
func (r *ring) public(now time.Time) jose.JSONWebKeySet {
	keys := r.now().Keys
	var set jose.JSONWebKeySet
	for i := len(keys) - 1; i >= 0; i-- {
		if k := keys[i]; k.Retired.IsZero() || now.Sub(k.Retired) < overlap {
			set.Keys = append(set.Keys, k.Key.Public())
		}
	}
	return set
}

// sign creates a token with the current key.
func (r *ring) sign(ctx context.Context, claims any) (string, error) {
	return signed(jose.SigningKey{Algorithm: jose.RS256, Key: r.current(ctx, time.Now())}, claims)
}

// seal creates a token that only this provider reads.
func (r *ring) seal(claims any) (string, error) {
	return signed(jose.SigningKey{Algorithm: jose.HS512, Key: r.now().Secret}, claims)
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

// errToken is returned for what is not a token of this provider.
var errToken = errors.New("devidp: not a token of this provider")

// open reads a token of sign into claims, and checks nothing but the signature. A key that is
// not known may be of another instance, so what is stored is read once more.
func (r *ring) open(ctx context.Context, token string, claims any) error {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return errToken
	}
	id := object.Signatures[0].Protected.KeyID
	set := r.public(time.Now())
	if len(set.Key(id)) == 0 {
		if err := r.refresh(ctx); err != nil {
			return err
		}
		set = r.public(time.Now())
	}
	for _, key := range set.Key(id) {
		if text, err := object.Verify(key); err == nil && json.Unmarshal(text, claims) == nil {
			return nil
		}
	}
	return errToken
}

// sealing returns the key of what pages send back.
func (r *ring) sealing() []byte {
	key, err := hkdf.Key(sha256.New, r.now().Secret, nil, "enablers devidp forms 1", sha256.Size)
	if err != nil { // never for this length
		panic("devidp: derive the key of forms: " + err.Error())
	}
	return key
}

// unseal reads a token of seal into claims.
func (r *ring) unseal(token string, claims any) error {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS512})
	if err != nil {
		return errToken
	}
	text, err := object.Verify(r.now().Secret)
	if err != nil || json.Unmarshal(text, claims) != nil {
		return errToken
	}
	return nil
}
