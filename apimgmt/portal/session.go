package portal

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// session is the login session of a user.
type session struct {
	form  string    // the token of its forms
	begun time.Time // never changed
	used  time.Time // the book's

	turn   chan struct{} // is full while the fields below are used
	tokens oidc.Tokens
	who    *oidc.Claims // of the access token
}

// book has the sessions, in the order in which they were used, by the hashes of
// their numbers: the memory of the process has no cookie.
type book struct {
	most          int
	idle, longest time.Duration

	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*list.Element
	order *list.List // of entry, the last one used in front
}

type entry struct {
	key     [sha256.Size]byte
	session *session
}

func newBook(most int, idle, longest time.Duration) *book {
	return &book{most: most, idle: idle, longest: longest, byKey: map[[sha256.Size]byte]*list.Element{}, order: list.New()}
}

// add begins a session and returns its number.
func (b *book) add(tokens *oidc.Tokens, who *oidc.Claims) string {
	number, now := rand.Text(), time.Now()
	s := &session{form: rand.Text(), begun: now, used: now, turn: make(chan struct{}, 1), tokens: *tokens, who: who}
	b.mu.Lock()
	defer b.mu.Unlock()
	for last := b.order.Back(); last != nil && (b.order.Len() >= b.most || b.over(last.Value.(*entry).session, now)); last = b.order.Back() {
		b.drop(last)
	}
	key := sha256.Sum256([]byte(number))
	b.byKey[key] = b.order.PushFront(&entry{key, s})
	return number
}

// find returns the session of a number, and nil if there is none or it is over.
func (b *book) find(number string) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.byKey[sha256.Sum256([]byte(number))]
	if !ok {
		return nil
	}
	s, now := at.Value.(*entry).session, time.Now()
	if b.over(s, now) {
		b.drop(at)
		return nil
	}
	s.used = now
	b.order.MoveToFront(at)
	return s
}

// end ends the session of a number, if there is one.
func (b *book) end(number string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.byKey[sha256.Sum256([]byte(number))]; ok {
		b.drop(at)
	}
}

// over reports whether a session has ended by itself. The caller has the mutex.
func (b *book) over(s *session, now time.Time) bool {
	return now.Sub(s.used) > b.idle || now.Sub(s.begun) > b.longest
}

func (b *book) drop(at *list.Element) {
	delete(b.byKey, at.Value.(*entry).key)
	b.order.Remove(at)
}
