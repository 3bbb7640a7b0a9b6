package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/session"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/storage"
)

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newStores returns two stores over the same documents, as two instances of a server have.
func newStores(t *testing.T) (one, other *session.Store, docs storage.Documents, c *clock) {
	c, docs = &clock{now: time.Unix(1e9, 0)}, storage.NewMemoryDocuments()
	config := session.Config{Documents: docs, Idle: 30 * time.Minute, Longest: 10 * time.Hour, MaxOwner: 3, Clock: c.read}
	one, err := session.New(config)
	require.NoError(t, err)
	other, err = session.New(config)
	require.NoError(t, err)
	return one, other, docs, c
}

func TestNew_namesTheField(t *testing.T) {
	_, err := session.New(session.Config{})
	require.EqualError(t, err, "new session store: Config.Documents is required")
	_, err = session.New(session.Config{Documents: storage.NewMemoryDocuments(), Idle: -1})
	require.ErrorContains(t, err, "Idle")
}

func TestStore_Find_knowsTheSessionsOfOtherInstances(t *testing.T) {
	one, other, docs, _ := newStores(t)
	secret, err := one.Begin(t.Context(), "Ada", []byte("token-of-ada"))
	require.NoError(t, err)
	value, err := other.Find(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, "token-of-ada", string(value))
	for doc, err := range storage.All(t.Context(), docs, "") {
		require.NoError(t, err)
		require.False(t, bytes.Contains(doc.Data, []byte("token-of-ada")), "the storage has the token in clear")
		require.NotContains(t, doc.Key, secret[33:])
	}
	for _, wrong := range []string{"", "x", secret + "x", secret[:32] + ".", "../" + secret, secret[:40], "ü." + secret} {
		_, err := other.Find(t.Context(), wrong)
		require.ErrorIs(t, err, access.ErrNoSession, "%q", wrong)
	}
	require.NoError(t, other.End(t.Context(), secret))
	require.NoError(t, other.End(t.Context(), secret), "a second time")
	_, err = one.Find(t.Context(), secret)
	require.ErrorIs(t, err, access.ErrNoSession)
}

func TestStore_Find_endsWhatIsIdleOrOld(t *testing.T) {
	one, other, docs, c := newStores(t)
	used, err := one.Begin(t.Context(), "Ada", nil)
	require.NoError(t, err)
	idle, err := one.Begin(t.Context(), "Bob", nil)
	require.NoError(t, err)
	for range 29 { // 9 h 40 min
		c.add(20 * time.Minute)
		_, err = other.Find(t.Context(), used)
		require.NoError(t, err)
	}
	_, err = one.Find(t.Context(), idle)
	require.ErrorIs(t, err, access.ErrNoSession)
	c.add(20 * time.Minute)
	_, err = one.Find(t.Context(), used)
	require.ErrorIs(t, err, access.ErrNoSession, "10 hours")
	_, err = one.Begin(t.Context(), "Eve", nil)
	require.NoError(t, err)
	n, err := one.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	all, err := docs.List(t.Context(), "", "", 0)
	require.NoError(t, err)
	require.Len(t, all, 1, "what has expired is removed")
}

func TestStore_Begin_endsTheOldestOfTooMany(t *testing.T) {
	one, _, _, c := newStores(t)
	others, err := one.Begin(t.Context(), "Bob", nil)
	require.NoError(t, err)
	var secrets []string
	for i := range 5 {
		secret, err := one.Begin(t.Context(), "Ada", []byte(fmt.Sprint(i)))
		require.NoError(t, err)
		secrets = append(secrets, secret)
		c.add(time.Second)
	}
	for i, secret := range secrets {
		_, err := one.Find(t.Context(), secret)
		if i < 2 {
			require.ErrorIs(t, err, access.ErrNoSession)
		} else {
			require.NoError(t, err)
		}
	}
	_, err = one.Find(t.Context(), others)
	require.NoError(t, err, "of another owner")
}

func TestStore_Update_changesOneAtATime(t *testing.T) {
	one, other, _, _ := newStores(t)
	secret, err := one.Begin(t.Context(), "Ada", []byte("0"))
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 20 {
		s := []*session.Store{one, other}[i%2]
		all.Go(func() {
			_, err := s.Update(context.Background(), secret, func(value []byte) ([]byte, error) {
				var n int
				_, _ = fmt.Sscan(string(value), &n)
				return []byte(fmt.Sprint(n + 1)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	value, err := one.Find(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, "20", string(value))
}

func TestStore_Update_keepsWhatWasThereIfTheChangeFails(t *testing.T) {
	one, other, _, c := newStores(t)
	secret, err := one.Begin(t.Context(), "Ada", []byte("before"))
	require.NoError(t, err)
	failed := errors.New("the provider is away")
	_, err = one.Update(t.Context(), secret, func([]byte) ([]byte, error) { return []byte("after"), failed })
	require.ErrorIs(t, err, failed)
	value, err := other.Update(t.Context(), secret, func(value []byte) ([]byte, error) {
		c.add(10 * time.Minute) // longer than one may hold it, as after a pause of the machine
		_, err := one.Update(t.Context(), secret, func(value []byte) ([]byte, error) { return append(value, '!'), nil })
		require.NoError(t, err, "a holder that is gone does not block others")
		return []byte("late"), nil
	})
	require.ErrorContains(t, err, "took longer")
	require.Nil(t, value)
	value, err = one.Find(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, "before!", string(value))
	_, err = one.Update(t.Context(), "unknown", nil)
	require.ErrorIs(t, err, access.ErrNoSession)
}
