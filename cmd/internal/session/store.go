package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/storage"
)

// Config configures a [Store].
type Config struct {
	// Documents keep the sessions. Required.
	Documents storage.Documents
	// Longest is when a session ends in any case. Zero means access.SessionTime.
	Longest time.Duration
	// Idle is after what time without a request a session ends. Zero means Longest.
	Idle time.Duration
	// MaxOwner is how many sessions one owner may have; of more, the oldest ends. Zero
	// means access.MaxOwnerSessions.
	MaxOwner int
	// Clock returns the time. Nil means time.Now.
	Clock func() time.Time
}

// Store has the sessions. Create it with [New]. It is safe for concurrent use, also by several
// processes with the same documents.
type Store struct {
	config Config

	mu    sync.Mutex
	swept time.Time // when expired sessions were last removed
}

var _ access.Sessions = (*Store)(nil)

// New returns a store. Errors name the field of the configuration.
func New(config Config) (*Store, error) {
	if config.Documents == nil {
		return nil, errors.New("new session store: Config.Documents is required")
	}
	if config.Longest < 0 || config.Idle < 0 || config.MaxOwner < 0 {
		return nil, errors.New("new session store: Config.Longest, Idle and MaxOwner must not be negative")
	}
	if config.Longest == 0 {
		config.Longest = access.SessionTime
	}
	if config.Idle == 0 {
		config.Idle = config.Longest
	}
	if config.MaxOwner == 0 {
		config.MaxOwner = access.MaxOwnerSessions
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	return &Store{config: config}, nil
}

// record is a stored session.
type record struct {
	Begun time.Time `json:"begun"`
	Used  time.Time `json:"used"`
	// Held says until when one caller of Update changes the session.
	Held   time.Time `json:"held,omitzero"`
	Sealed []byte    `json:"sealed"`
}

// keyPrefix begins the keys of all sessions. A key goes on with the hash of the owner and
// that of the secret.
const keyPrefix = "session/"

// Begin starts a session of an owner, such as the name of a person, and returns its secret.
func (s *Store) Begin(ctx context.Context, owner string, value []byte) (secret string, err error) {
	now := s.config.Clock()
	place := keyPrefix + hash(owner)[:32] + "/"
	if err := s.makeRoom(ctx, place, now); err != nil {
		return "", fmt.Errorf("begin session: %w", err)
	}
	secret = hash(owner)[:32] + "." + rand.Text()
	sealed, err := seal(secret, value)
	if err != nil {
		return "", fmt.Errorf("begin session: %w", err)
	}
	data, err := json.Marshal(record{Begun: now, Used: now, Sealed: sealed})
	if err != nil {
		return "", fmt.Errorf("begin session: %w", err)
	}
	if _, err := s.config.Documents.Create(ctx, documentKey(secret), data); err != nil {
		return "", fmt.Errorf("begin session: %w", err)
	}
	return secret, nil
}

// Find returns what a session holds. The error is [access.ErrNoSession], or that of the storage.
func (s *Store) Find(ctx context.Context, secret string) ([]byte, error) {
	doc, one, err := s.get(ctx, secret)
	if err != nil {
		return nil, err
	}
	// To note the use of every request would write as often as browsers read.
	if now := s.config.Clock(); now.Sub(one.Used) > s.config.Idle/10 {
		one.Used = now
		if err := s.put(ctx, doc, one); err != nil && !storage.Overtaken(err) {
			return nil, fmt.Errorf("find session: %w", err)
		}
	}
	return open(secret, one.Sealed)
}

// holdTime is how long one caller of Update may take.
const holdTime = 30 * time.Second

// Update replaces what a session holds by what change returns for it. Of several callers, in
// one process or many, one at a time changes; the others wait, and are given what it left.
// When change returns an error, the session stays as it is and Update returns the error.
func (s *Store) Update(ctx context.Context, secret string, change func(value []byte) ([]byte, error)) ([]byte, error) {
	if !isSecret(secret) {
		return nil, access.ErrNoSession
	}
	var held time.Time
	var sealed []byte // what is held
	for held.IsZero() {
		_, err := storage.Change(ctx, s.config.Documents, documentKey(secret), func(found storage.Document) ([]byte, error) {
			held = time.Time{}
			one, err := s.current(found)
			if err != nil {
				return nil, err
			}
			now := s.config.Clock()
			if now.Before(one.Held) && one.Held.Sub(now) <= holdTime {
				return nil, nil // by another caller
			}
			held, sealed = now.Add(holdTime).UTC(), one.Sealed
			one.Held = held
			return json.Marshal(one)
		})
		if err == nil && held.IsZero() {
			err = wait(ctx, 50*time.Millisecond)
		}
		if err != nil {
			return nil, s.failure("update session", err)
		}
	}
	return s.changeHeld(ctx, secret, sealed, held, change)
}

// changeHeld changes what is sealed in a session that this caller holds until a time, and releases it.
func (s *Store) changeHeld(
	ctx context.Context, secret string, sealed []byte, held time.Time, change func([]byte) ([]byte, error),
) ([]byte, error) {
	// The session is released also when the browser disconnects meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTime)
	defer cancel()
	value, err := open(secret, sealed)
	if err != nil {
		return nil, err
	}
	next, refused := change(value)
	if refused != nil {
		next = value
	}
	sealed, err = seal(secret, next)
	if err != nil {
		return nil, fmt.Errorf("update session: %w", err)
	}
	written := false
	_, err = storage.Change(ctx, s.config.Documents, documentKey(secret), func(found storage.Document) ([]byte, error) {
		one, err := s.current(found)
		if err != nil {
			return nil, err
		}
		if written = one.Held.Equal(held); !written {
			return nil, nil
		}
		one.Sealed, one.Held, one.Used = sealed, time.Time{}, s.config.Clock()
		return json.Marshal(one)
	})
	if err != nil {
		return nil, s.failure("update session", err)
	}
	if !written {
		return nil, fmt.Errorf("update session: the change took longer than %v", holdTime)
	}
	return next, refused
}

// End ends a session, if there is one.
func (s *Store) End(ctx context.Context, secret string) error {
	if !isSecret(secret) {
		return nil
	}
	err := storage.Remove(ctx, s.config.Documents, documentKey(secret), func(found storage.Document) (remove bool, err error) {
		_, err = s.current(found)
		return err == nil, nil
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// Count returns how many sessions there are.
func (s *Store) Count(ctx context.Context) (int, error) {
	n, now := 0, s.config.Clock()
	for doc, err := range storage.All(ctx, s.config.Documents, keyPrefix) {
		if err != nil {
			return 0, fmt.Errorf("count sessions: %w", err)
		}
		if one, ok := read(doc.Data); ok && !s.over(one, now) {
			n++
		}
	}
	return n, nil
}

// get returns the document of a session that has not ended.
func (s *Store) get(ctx context.Context, secret string) (storage.Document, record, error) {
	if !isSecret(secret) {
		return storage.Document{}, record{}, access.ErrNoSession
	}
	doc, err := s.config.Documents.Get(ctx, documentKey(secret))
	if err != nil {
		return storage.Document{}, record{}, s.failure("find session", err)
	}
	one, err := s.current(doc)
	return doc, one, err
}

// current reads the document of a session. The error is access.ErrNoSession if there is none or it has ended.
func (s *Store) current(doc storage.Document) (record, error) {
	one, ok := read(doc.Data)
	if !ok || s.over(one, s.config.Clock()) {
		return record{}, access.ErrNoSession
	}
	return one, nil
}

func (s *Store) put(ctx context.Context, doc storage.Document, one record) error {
	data, err := json.Marshal(one)
	if err != nil {
		return err
	}
	_, err = s.config.Documents.Update(ctx, doc.Key, doc.Revision, data)
	return err
}

// failure returns access.ErrNoSession for a session that is gone, and other errors with what was done.
func (s *Store) failure(verb string, err error) error {
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, access.ErrNoSession) {
		return access.ErrNoSession
	}
	return fmt.Errorf("%s: %w", verb, err)
}

// over reports whether a session has ended by itself.
func (s *Store) over(one record, now time.Time) bool {
	return now.Sub(one.Begun) >= s.config.Longest || now.Sub(one.Used) >= s.config.Idle
}

// makeRoom removes what has expired, and the oldest sessions of an owner that has too many.
func (s *Store) makeRoom(ctx context.Context, place string, now time.Time) error {
	s.mu.Lock()
	everywhere := now.Sub(s.swept) > time.Hour
	if everywhere {
		s.swept = now
	}
	s.mu.Unlock()
	if everywhere {
		if _, err := s.remove(ctx, keyPrefix, now, false); err != nil {
			return err
		}
	}
	for {
		n, err := s.remove(ctx, place, now, false)
		if err != nil || n < s.config.MaxOwner {
			return err
		}
		if _, err := s.remove(ctx, place, now, true); err != nil {
			return err
		}
	}
}

// remove removes the expired sessions below a place, or the oldest one of all, and returns
// how many are left.
func (s *Store) remove(ctx context.Context, place string, now time.Time, oldest bool) (left int, err error) {
	var first storage.Document
	var begun time.Time
	for doc, err := range storage.All(ctx, s.config.Documents, place) {
		if err != nil {
			return 0, err
		}
		one, ok := read(doc.Data)
		if !ok || s.over(one, now) {
			if err := s.config.Documents.Delete(ctx, doc.Key, doc.Revision); err != nil &&
				!storage.Overtaken(err) {
				return 0, err
			}
			continue
		}
		left++
		if first.Key == "" || one.Begun.Before(begun) {
			first, begun = doc, one.Begun
		}
	}
	if !oldest || first.Key == "" {
		return left, nil
	}
	err = s.config.Documents.Delete(ctx, first.Key, first.Revision)
	if storage.Overtaken(err) {
		err = nil // it is gone, or its use was noted: the caller looks again
	}
	return left - 1, err
}

func read(data []byte) (record, bool) {
	var one record
	err := json.Unmarshal(data, &one)
	return one, err == nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// documentKey returns the key of the document of a secret.
func documentKey(secret string) string {
	owner, _, _ := strings.Cut(secret, ".")
	return keyPrefix + owner + "/" + hash(secret)
}

// isSecret reports whether a text has the form of a secret; a cookie may have any.
func isSecret(text string) bool {
	owner, rest, ok := strings.Cut(text, ".")
	_, err := hex.DecodeString(owner)
	return ok && err == nil && len(owner) == 32 && strings.ToLower(owner) == owner && rest != "" && len(rest) <= 100
}

// seal encrypts what a session holds, and open decrypts it: AES-256-GCM with a key of
// HKDF-SHA-256 (RFC 5869).
func seal(secret string, value []byte) ([]byte, error) {
	box, err := newCipher(secret)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, value, nil), nil
}

func open(secret string, sealed []byte) ([]byte, error) {
	box, err := newCipher(secret)
	if err != nil {
		return nil, err
	}
	value, err := box.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, access.ErrNoSession
	}
	return value, nil
}

func newCipher(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "enablers session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
