package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// The times within which an issuer may choose how long its keys are used, and
// how soon the first failure is tried again.
const (
	leastAge   = time.Minute
	greatest   = 24 * time.Hour
	firstRetry = 500 * time.Millisecond
)

// source keeps one document of the issuer: fetched when it is needed, by one
// caller for all, and again when it has expired. While that fails the old
// document is used for a while, and the issuer is retried at growing intervals.
type source[T any] struct {
	name  string
	load  func(ctx context.Context, old *T) (*T, time.Duration, error)
	retry time.Duration // the least time between fetches on demand, and the greatest between failures
	log   *slog.Logger

	turn  chan struct{} // is full while one fetches
	state atomic.Pointer[state[T]]

	closing context.Context // of fetches that no caller waits for
	cancel  context.CancelFunc
	mu      sync.Mutex // orders the start of such fetches and close
	running sync.WaitGroup
}

// state is what is known. It is replaced as a whole.
type state[T any] struct {
	document *T // nil until the first success
	expires  time.Time
	tried    time.Time // when the last fetch ended
	failures int       // since the last success
	err      error     // of the last fetch
}

func newSource[T any](name string, c Config, load func(context.Context, *T) (*T, time.Duration, error)) *source[T] {
	s := &source[T]{name: name, load: load, retry: c.KeysRetry, log: c.Logger, turn: make(chan struct{}, 1)}
	s.state.Store(&state[T]{})
	s.closing, s.cancel = context.WithCancel(context.Background())
	return s
}

// get returns the document. It waits for the issuer only without one that
// may be used.
func (s *source[T]) get(ctx context.Context) (*T, error) {
	known := s.state.Load()
	now := time.Now()
	if known.document != nil {
		if now.Before(known.expires) {
			return known.document, nil
		}
		if now.Before(known.expires.Add(staleKeys)) {
			s.refreshBehind(known, now)
			return known.document, nil
		}
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", s.name, ctx.Err())
	}
	if known = s.state.Load(); known.document != nil && time.Now().Before(known.expires) {
		return known.document, nil
	}
	if known.failures > 0 && time.Since(known.tried) < s.backoff(known.failures) {
		return nil, known.err
	}
	return s.fetch(ctx)
}

// newer returns a document that is newer than the one seen, if enough time has
// passed to fetch one, else the one that is there with the error of the last
// attempt.
func (s *source[T]) newer(ctx context.Context, seen *T) (*T, error) {
	if known := s.state.Load(); known.document != seen || time.Since(known.tried) < s.retry {
		return known.document, known.err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", s.name, ctx.Err())
	}
	if known := s.state.Load(); known.document != seen || time.Since(known.tried) < s.retry {
		return known.document, known.err
	}
	return s.fetch(ctx)
}

// refreshBehind fetches in the background, once at a time.
func (s *source[T]) refreshBehind(known *state[T], now time.Time) {
	if known.failures > 0 && now.Sub(known.tried) < s.backoff(known.failures) {
		return
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return // another caller does it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		<-s.turn
		return
	}
	s.running.Go(func() {
		defer func() { <-s.turn }()
		_, _ = s.fetch(s.closing) // noted in the state, and logged
	})
}

// fetch loads the document. The caller has the turn.
func (s *source[T]) fetch(ctx context.Context) (*T, error) {
	old := s.state.Load()
	document, age, err := s.load(ctx, old.document)
	now := time.Now()
	if err != nil {
		if ctx.Err() != nil {
			return nil, err // the caller gave up, which says nothing about the issuer
		}
		if !errors.Is(err, ErrUnreachable) {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		s.log.LogAttrs(ctx, slog.LevelWarn, "cannot fetch from the issuer", slog.String("what", s.name),
			slog.Any("error", err), slog.Bool("stale", old.document != nil))
		s.state.Store(&state[T]{document: old.document, expires: old.expires, tried: now, failures: old.failures + 1, err: err})
		return nil, err
	}
	if document != old.document && old.document != nil {
		s.log.LogAttrs(ctx, slog.LevelInfo, "the issuer has changed", slog.String("what", s.name))
	}
	s.state.Store(&state[T]{document: document, expires: now.Add(min(max(age, leastAge), greatest)), tried: now})
	return document, nil
}

// backoff is how long an issuer is left alone after so many failures.
func (s *source[T]) backoff(failures int) time.Duration {
	return min(firstRetry<<min(failures-1, 16), s.retry)
}

// close ends the background fetch, and waits for that.
func (s *source[T]) close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.running.Wait()
}
