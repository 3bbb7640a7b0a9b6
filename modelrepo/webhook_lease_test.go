package modelrepo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// span is how long a lease of a webhook holds with a timeout of 10 seconds, and poll how often
// queues are read.
const (
	span = 40 * time.Second
	poll = 5 * time.Second
)

// storedLease is the document of a webhook's lease, with those members that older versions do not have last.
type storedLease struct {
	Owner       string    `json:"owner,omitempty"`
	Until       time.Time `json:"until,omitzero"`
	Failures    int       `json:"failures,omitempty"`
	Next        time.Time `json:"next,omitzero"`
	LeaseMillis int64     `json:"leaseMillis,omitempty"`
	PauseMillis int64     `json:"pauseMillis,omitempty"`
}

// leased is a repository with one webhook and one event in its queue.
type leased struct {
	*modelrepo.Store
	docs storage.Documents
	key  string // of the lease
	to   *receiver
}

// write stores the lease as another process does.
func (l leased) write(t *testing.T, as storedLease) {
	t.Helper()
	data, err := json.Marshal(as)
	require.NoError(t, err)
	doc, err := l.docs.Get(t.Context(), l.key)
	if err == nil {
		_, err = l.docs.Update(t.Context(), l.key, doc.Revision, data)
	} else {
		_, err = l.docs.Create(t.Context(), l.key, data)
	}
	require.NoError(t, err)
}

// read returns the lease.
func (l leased) read(t *testing.T) (as storedLease) {
	t.Helper()
	doc, err := l.docs.Get(context.Background(), l.key) // it may be read from outside of the bubble
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(doc.Data, &as))
	return as
}

// leasing returns a repository that holds leases for span and reads queues every poll.
func leasing(t *testing.T, docs storage.Documents) *modelrepo.Store {
	t.Helper()
	return hooked(t, docs, func(c *modelrepo.Config) {
		c.Webhooks.Retry, c.Webhooks.Poll, c.Webhooks.Timeout = time.Second, poll, 10*time.Second
	})
}

// inBubble runs a test in a bubble. The callback is outside and keeps no connection open, so that the bubble's
// clock advances whenever no call is in progress.
func inBubble(t *testing.T, test func(t *testing.T, l leased)) {
	t.Helper()
	to := newReceiver(t)
	to.Config.SetKeepAlivesEnabled(false)
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		s := leasing(t, docs)
		created := hook(t, s, modelrepo.NamespaceCreate, to.URL)
		require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
		test(t, leased{s, docs, "lease/" + created.ID, to})
	})
}

// onEveryClock runs a test for several differences between the clock of another process and that of this one.
func onEveryClock(t *testing.T, test func(t *testing.T, l leased, now func() time.Time)) {
	t.Helper()
	for name, ahead := range map[string]time.Duration{
		"the same": 0, "an hour behind": -time.Hour, "half an hour ahead": 30 * time.Minute, "two hours ahead": 2 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l leased) { test(t, l, func() time.Time { return time.Now().Add(ahead).UTC() }) })
		})
	}
}

func TestStore_Run_leavesACallbackToItsLiveHolderWhateverItsClock(t *testing.T) {
	for name, millis := range map[string]int64{"of this version": span.Milliseconds(), "of an older version": 0} {
		t.Run(name, func(t *testing.T) {
			onEveryClock(t, func(t *testing.T, l leased, now func() time.Time) {
				renew := func() { l.write(t, storedLease{Owner: "another", Until: now().Add(span), LeaseMillis: millis}) }
				renew()
				run(t, l.Store)
				for range 30 {
					time.Sleep(20 * time.Second)
					require.Empty(t, l.to.received(), "another process holds the lease")
					renew()
				}
				time.Sleep(span - time.Second)
				require.Empty(t, l.to.received())
				time.Sleep(time.Second + 2*poll)
				require.Len(t, l.to.received(), 1, "the other process has ended")
			})
		})
	}
}

// slowAnswers are documents that store the first leases at once, and then take long to answer.
type slowAnswers struct {
	storage.Documents
	slow *atomic.Int32 // how many leases are left
}

func (s slowAnswers) wait(key string) {
	if strings.HasPrefix(key, "lease/") && s.slow.Add(-1) >= 0 {
		time.Sleep(span + 2*time.Second)
	}
}

func (s slowAnswers) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	defer s.wait(key)
	return s.Documents.Create(ctx, key, data)
}

func (s slowAnswers) Update(ctx context.Context, key string, at storage.Revision, data []byte) (storage.Revision, error) {
	defer s.wait(key)
	return s.Documents.Update(ctx, key, at, data)
}

func TestStore_Run_leavesACallbackWhoseLeaseRanOutWhileItWasStored(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		slow := new(atomic.Int32)
		slow.Store(2)
		run(t, leasing(t, slowAnswers{l.docs, slow}))
		time.Sleep(span + 2*time.Second + span) // the lease was renewed once
		require.Empty(t, l.to.received())
		l.write(t, storedLease{Owner: "another", LeaseMillis: span.Milliseconds()})
		time.Sleep(span - time.Second)
		require.Empty(t, l.to.received(), "another process has taken over")
		time.Sleep(time.Second + 3*poll)
		require.Len(t, l.to.received(), 1, "the other process has ended")
	})
}

func TestStore_Run_acquiresALeaseAgainThatWasStoredSlowly(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		slow := new(atomic.Int32)
		slow.Store(2)
		run(t, leasing(t, slowAnswers{l.docs, slow}))
		time.Sleep(2*(span+2*time.Second) + time.Second)
		require.Empty(t, l.to.received(), "the lease has run out")
		time.Sleep(3 * poll)
		require.Len(t, l.to.received(), 1)
	})
}

func TestStore_Run_waitsForAsLongAsTheHolderStates(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		l.write(t, storedLease{Owner: "another", LeaseMillis: (10 * time.Minute).Milliseconds()})
		run(t, l.Store)
		time.Sleep(10*time.Minute - time.Second)
		require.Empty(t, l.to.received())
		time.Sleep(time.Second + 2*poll)
		require.Len(t, l.to.received(), 1)
	})
}

func TestStore_Run_callsAgainAfterThePauseWhateverTheClockOfTheProcessThatFailed(t *testing.T) {
	onEveryClock(t, func(t *testing.T, l leased, now func() time.Time) {
		const pause = 10 * time.Minute
		l.write(t, storedLease{Owner: "another", Until: now().Add(span)})
		run(t, l.Store)
		time.Sleep(span / 2)
		l.write(t, storedLease{Failures: 11, Next: now().Add(pause), PauseMillis: pause.Milliseconds()})
		time.Sleep(pause - time.Second)
		require.Empty(t, l.to.received(), "the callback is called too early")
		time.Sleep(time.Second + 2*poll)
		require.Len(t, l.to.received(), 1)
		require.Zero(t, l.read(t).Failures)
	})
}

func TestStore_Run_callsAFailedCallbackAMinuteAfterItsStart(t *testing.T) {
	onEveryClock(t, func(t *testing.T, l leased, now func() time.Time) {
		l.write(t, storedLease{Failures: 12, Next: now().Add(time.Hour), PauseMillis: time.Hour.Milliseconds()})
		run(t, l.Store)
		time.Sleep(time.Minute - time.Second)
		require.Empty(t, l.to.received())
		time.Sleep(time.Second + 2*poll)
		require.Len(t, l.to.received(), 1)
	})
}

func TestStore_Run_readsTheRetriesOfOlderVersions(t *testing.T) {
	onEveryClock(t, func(t *testing.T, l leased, now func() time.Time) {
		l.write(t, storedLease{Owner: "another", Until: now().Add(span)})
		run(t, l.Store)
		time.Sleep(span / 2)
		l.write(t, storedLease{Failures: 10, Next: now().Add(8 * time.Minute)}) // 2^9 seconds, less at most a half
		time.Sleep(4 * time.Minute)
		require.Empty(t, l.to.received(), "the callback is called too early")
		time.Sleep(5 * time.Minute)
		require.Len(t, l.to.received(), 1)
	})
}

// meanwhile are documents whose intents are listed after something else has happened.
type meanwhile struct {
	storage.Documents
	happens func()
}

func (m meanwhile) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if prefix == "intent/" {
		m.happens()
	}
	return m.Documents.List(ctx, prefix, after, limit)
}

func TestStore_Run_keepsEventsAndLeasesOfAWebhookThatIsNewToIt(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		register := sync.OnceFunc(func() {
			created := hook(t, l.Store, modelrepo.NamespaceCreate, l.to.URL)
			require.NoError(t, l.CreateNamespace(t.Context(), "ssn", modelrepo.NamespaceUpdate{}))
			leased{docs: l.docs, key: "lease/" + created.ID}.write(t, storedLease{Owner: "another", LeaseMillis: span.Milliseconds()})
		})
		s := leasing(t, meanwhile{l.docs, register})
		run(t, s)
		time.Sleep(span - time.Second)
		require.Len(t, l.to.received(), 2, "another process calls the new webhook")
		time.Sleep(time.Second + 2*poll)
		require.Len(t, l.to.received(), 3)
		require.Zero(t, s.Stats().GivenUp)
	})
}

// A process of an older version compares the stored times with its clock.
func TestStore_Run_writesWhatOlderVersionsRead(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		l.to.answer(http.StatusServiceUnavailable)
		var held storedLease
		l.to.during = func() { held = l.read(t) }
		run(t, l.Store)
		time.Sleep(time.Millisecond)
		require.Len(t, l.to.received(), 1)
		require.NotEmpty(t, held.Owner)
		require.WithinRange(t, held.Until, time.Now().Add(span/2), time.Now().Add(span))
		failed := l.read(t)
		require.Empty(t, failed.Owner)
		require.Equal(t, 1, failed.Failures)
		require.WithinRange(t, failed.Next, time.Now(), time.Now().Add(time.Second))
		require.Positive(t, failed.PauseMillis)
	})
}

// An event of an operation that is still in progress must not be called by a process whose clock
// is ahead, and then again.
func TestStore_Run_leavesAnOperationInProgressItsIntent(t *testing.T) {
	onEveryClock(t, func(t *testing.T, l leased, now func() time.Time) {
		run(t, l.Store)
		time.Sleep(10 * poll)
		require.Len(t, l.to.received(), 1)
		intent, err := json.Marshal(map[string]any{
			"id": "1", "action": "namespace_create", "at": map[string]string{"Namespace": "w3c"}, "time": now(),
			"hooks": []string{l.key[len("lease/"):]},
		})
		require.NoError(t, err)
		_, err = l.docs.Create(t.Context(), "intent/1", intent)
		require.NoError(t, err)
		time.Sleep(time.Minute - time.Second)
		require.Len(t, l.to.received(), 1, "the operation may still be in progress")
		time.Sleep(2*time.Minute + 3*poll)
		require.Len(t, l.to.received(), 2, "the operation has crashed")
	})
}

func TestStore_Run_deliversAfterTheClockWasSetBack(t *testing.T) {
	inBubble(t, func(t *testing.T, l leased) {
		future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		l.write(t, storedLease{Owner: "of a process that was killed", Until: future, Failures: 3, Next: future})
		run(t, l.Store)
		time.Sleep(span + 2*poll)
		require.Len(t, l.to.received(), 1)
	})
}
