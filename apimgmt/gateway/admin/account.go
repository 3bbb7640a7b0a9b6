package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/iotenablers/enablers/apimgmt/internal/password"
	"github.com/iotenablers/enablers/storage"
)

// accountKey is the document of the administrator's account.
const accountKey = "administrator"

// account is the account of the administrator.
type account struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Hash    string `json:"hash"` // argon2id, in the form of the PHC string format
}

var (
	errTaken    = errors.New("admin: there is an administrator already")
	errPassword = errors.New("admin: name or password is wrong")
	errLocked   = errors.New("admin: too many wrong passwords")
)

// The bounds of passwords and sessions.
const (
	shortestPassword = 12
	idleTime         = 30 * time.Minute
	sessionTime      = 12 * time.Hour
	maxSessions      = 100

	addressFailures = 5  // wrong passwords before an address has to wait
	allFailures     = 50 // and before every client has to
	firstLock       = 5 * time.Second
	longestLock     = 15 * time.Minute
	longestForAll   = time.Minute // so that attackers cannot lock the administrator out
	maxAddresses    = 10_000
)

// administrator is the account that signs in to the page.
type administrator struct {
	docs   storage.Documents
	hasher *password.Hasher
	clock  func() time.Time

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*session
	failures failures
	all      failed
}

// session is the session of a browser that has signed in.
type session struct {
	user     string
	began    time.Time
	lastSeen time.Time
}

// failed counts wrong passwords, and wrong tokens of the form that creates the account.
type failed struct {
	count  int
	locked time.Time // until then
}

// failures are those of addresses, at most maxAddresses.
type failures map[netip.Addr]*failed

// of returns the failures of an address. A new one takes the place of those that are not
// locked, if there are too many.
func (m failures) of(from netip.Addr, now time.Time) *failed {
	if f := m[from]; f != nil {
		return f
	}
	if len(m) >= maxAddresses {
		for address, old := range m {
			if now.After(old.locked) || len(m) >= maxAddresses {
				delete(m, address)
			}
		}
	}
	f := &failed{}
	m[from] = f
	return f
}

func newAdministrator(docs storage.Documents) *administrator {
	return &administrator{docs: docs, hasher: password.New(), clock: time.Now,
		sessions: map[[sha256.Size]byte]*session{}, failures: failures{}}
}

// exists reports whether there is an account.
func (a *administrator) exists(ctx context.Context) (bool, error) {
	_, err := a.docs.Get(ctx, accountKey)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// create stores the account. Of several at one time one succeeds; the others get
// errTaken.
func (a *administrator) create(ctx context.Context, name, secret string) error {
	switch {
	case name == "" || len(name) > 100 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return schemaViolation("name", "should have 1 to 100 characters")
	case len(secret) < shortestPassword || len(secret) > password.Longest:
		return schemaViolation("password", fmt.Sprintf("should have %d to %d characters", shortestPassword, password.Longest))
	}
	there, err := a.exists(ctx)
	if err != nil {
		return err
	}
	if there { // before the work of a hash
		return errTaken
	}
	hash, err := a.hasher.Hash(ctx, secret)
	if err != nil {
		return err
	}
	data, err := json.Marshal(account{Version: version, Name: name, Hash: hash})
	if err != nil {
		return err
	}
	_, err = a.docs.Create(ctx, accountKey, data)
	if errors.Is(err, storage.ErrExists) {
		return errTaken
	}
	return err
}

// signIn checks a password and returns the secret of a new session.
func (a *administrator) signIn(ctx context.Context, name, secret string, from netip.Addr) (string, error) {
	if len(name) > 100 || len(secret) > password.Longest {
		return "", errPassword
	}
	if !a.begin(from) {
		return "", errLocked
	}
	doc, err := a.docs.Get(ctx, accountKey)
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	var kept account
	if err := json.Unmarshal(doc.Data, &kept); err != nil || kept.Version != version {
		return "", fmt.Errorf("sign in: read the account: %w", ErrRecord)
	}
	right, err := a.hasher.Matches(ctx, secret, kept.Hash)
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	if !right || subtle.ConstantTimeCompare([]byte(name), []byte(kept.Name)) != 1 {
		return "", errPassword
	}
	return a.open(name, from), nil
}

// begin counts an attempt as a failure before it is known how it went, so that many
// at once are no way around the lock. It reports whether the attempt may be made.
func (a *administrator) begin(from netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	f := a.failures.of(from, now)
	if now.Before(f.locked) || now.Before(a.all.locked) {
		return false
	}
	f.fail(now, addressFailures, longestLock)
	a.all.fail(now, allFailures, longestForAll)
	return true
}

func (f *failed) fail(now time.Time, most int, longest time.Duration) {
	f.count++
	if surplus := f.count - most; surplus >= 0 {
		f.locked = now.Add(min(firstLock<<min(surplus, 20), longest))
	}
}

// open begins a session and drops the failures. The oldest session ends if there
// are too many.
func (a *administrator) open(name string, from netip.Addr) string {
	secret := rand.Text() + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	delete(a.failures, from)
	a.all = failed{}
	var oldest [sha256.Size]byte
	for id, s := range a.sessions {
		if now.Sub(s.lastSeen) > idleTime || now.Sub(s.began) > sessionTime {
			delete(a.sessions, id)
		} else if known := a.sessions[oldest]; known == nil || s.lastSeen.Before(known.lastSeen) {
			oldest = id
		}
	}
	if len(a.sessions) >= maxSessions {
		delete(a.sessions, oldest)
	}
	a.sessions[sha256.Sum256([]byte(secret))] = &session{user: name, began: now, lastSeen: now}
	return secret
}

// find returns a copy of the session of a secret; ok is false if none exists. Using
// a session keeps it from ending, watching one does not.
func (a *administrator) find(secret string, use bool) (s session, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := sha256.Sum256([]byte(secret))
	kept, now := a.sessions[id], a.clock()
	if kept == nil {
		return session{}, false
	}
	if now.Sub(kept.lastSeen) > idleTime || now.Sub(kept.began) > sessionTime {
		delete(a.sessions, id)
		return session{}, false
	}
	s = *kept
	if use {
		kept.lastSeen = now
	}
	return s, true
}

// close ends a session.
func (a *administrator) close(secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, sha256.Sum256([]byte(secret)))
}

// fingerprint changes with what is stored of an entity, so that a form can detect
// whether it is about what is there.
func fingerprint(e row) string {
	data, err := json.Marshal(e)
	if err != nil { // an entity that was stored always can
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
