package access

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// Sessions keeps the sessions of browsers. A session has a secret, which the cookie of its
// browser knows, and a value. Implementations are safe for concurrent use.
type Sessions interface {
	// Begin starts a session of an owner and returns its secret. An owner that has too many
	// loses the oldest.
	Begin(ctx context.Context, owner string, value []byte) (secret string, err error)
	// Find returns the value, or an error that matches [ErrNoSession].
	Find(ctx context.Context, secret string) ([]byte, error)
	// Update replaces the value by what change returns for it, and returns that. One caller at
	// a time changes; the others wait, and are given what it left. When change returns an
	// error, the value stays and Update returns the error.
	Update(ctx context.Context, secret string, change func(value []byte) ([]byte, error)) ([]byte, error)
	// End ends a session. It returns nil if the session is absent.
	End(ctx context.Context, secret string) error
	// Count returns how many sessions there are.
	Count(ctx context.Context) (int, error)
}

// ErrNoSession reports that no session has a secret: it has ended, or there never
// was one.
var ErrNoSession = errors.New("access: there is no such session")

const (
	// SessionTime is how long a browser stays signed in.
	SessionTime = 12 * time.Hour
	// mostSessions bounds the sessions in memory. Of too many, the oldest ends.
	mostSessions = 1000
	// MaxOwnerSessions bounds the sessions of one owner, so that it ends none of others.
	MaxOwnerSessions = 20
)

// memory keeps sessions until the process ends.
type memory struct {
	clock func() time.Time

	mu    sync.Mutex
	known map[digest]*kept // by the digest of their secret
}

// kept is one session in memory.
type kept struct {
	owner string
	ends  time.Time
	turn  chan struct{} // is full while a caller of Update changes the value
	value []byte
}

var _ Sessions = (*memory)(nil)

func newMemory(clock func() time.Time) *memory {
	return &memory{clock: clock, known: map[digest]*kept{}}
}

// Begin implements Sessions.
func (s *memory) Begin(_ context.Context, owner string, value []byte) (string, error) {
	secret := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, own age
	for sum, one := range s.known {
		if !s.clock().Before(one.ends) {
			delete(s.known, sum)
			continue
		}
		all.count(sum, one)
		if one.owner == owner {
			own.count(sum, one)
		}
	}
	switch {
	case own.total >= MaxOwnerSessions:
		delete(s.known, own.oldest)
	case all.total >= mostSessions:
		delete(s.known, all.oldest)
	}
	s.known[digestCredential(secret)] = &kept{owner: owner, ends: s.clock().Add(SessionTime), turn: make(chan struct{}, 1), value: value}
	return secret, nil
}

// age finds the oldest of some sessions.
type age struct {
	total  int
	oldest digest
	ends   time.Time
}

func (a *age) count(sum digest, one *kept) {
	a.total++
	if a.total == 1 || one.ends.Before(a.ends) {
		a.oldest, a.ends = sum, one.ends
	}
}

// Find implements Sessions.
func (s *memory) Find(_ context.Context, secret string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.findLocked(secret)
	if one == nil {
		return nil, ErrNoSession
	}
	return one.value, nil
}

func (s *memory) findLocked(secret string) *kept {
	one := s.known[digestCredential(secret)]
	if one == nil || !s.clock().Before(one.ends) {
		return nil
	}
	return one
}

// Update implements Sessions.
func (s *memory) Update(ctx context.Context, secret string, change func(value []byte) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	one := s.findLocked(secret)
	s.mu.Unlock()
	if one == nil {
		return nil, ErrNoSession
	}
	select {
	case one.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-one.turn }()
	value, err := s.Find(ctx, secret)
	if err != nil {
		return nil, err
	}
	next, err := change(value)
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one.value = next
	return next, nil
}

// End implements Sessions.
func (s *memory) End(_ context.Context, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, digestCredential(secret))
	return nil
}

// Count implements Sessions.
func (s *memory) Count(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, one := range s.known {
		if s.clock().Before(one.ends) {
			total++
		}
	}
	return total, nil
}
