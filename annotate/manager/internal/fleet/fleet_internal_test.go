package fleet

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

const leaseTime = 1500 * time.Millisecond

func newFleet(documents storage.Documents) *Fleet {
	return New(Config{
		Documents: documents, Instance: "a", LeaseDuration: leaseTime, Poll: 2 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// renewed is a renewal whose answer came after a delay.
func (f *Fleet) renewedAfter(delay time.Duration) {
	next, revision := f.renewal()
	f.adopt(next, revision+1, time.Now().Add(-delay))
}

// missed makes the fleet one whose other instance was there until now.
func (f *Fleet) missed() {
	f.Begin()
	f.left = time.Now()
}

func TestFleet_Permit_endsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(storage.NewMemoryDocuments())
		require.Error(t, f.Permit(), "it has no lease yet")
		f.missed()
		f.renewedAfter(0)
		require.NoError(t, f.Permit())
		time.Sleep(f.cutAfter() - 1)
		require.NoError(t, f.Permit(), "what is under way is finished")
		time.Sleep(time.Nanosecond) // no guard has ended the contexts
		require.Error(t, f.Permit())
		f.renewedAfter(0)
		require.NoError(t, f.Permit())
		f.cut()
		require.Error(t, f.Permit())
	})
}

func TestFleet_Permit_goesOnWhereNoOtherInstanceIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(storage.NewMemoryDocuments())
		f.Begin()
		f.renewedAfter(0)
		time.Sleep(time.Hour)
		require.NoError(t, f.Permit())
		f.missed()
		require.Error(t, f.Permit())
		time.Sleep(lonelyTime)
		require.Error(t, f.Permit(), "the other one may be back")
		time.Sleep(time.Nanosecond)
		require.NoError(t, f.Permit())
	})
}

// stops receives the deadline of each StopLeased.
type stops chan time.Time

func (s stops) StopLeased(deadline time.Time) { s <- deadline }

// The answer to a renewal may be taken when its time has passed, by a process that stood still.
func TestMembership_guard_stopsChannelsWhenARenewalComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(storage.NewMemoryDocuments())
		f.missed()
		stopped := make(stops, 1)
		s := &Membership{fleet: f, channels: stopped}
		ctx, cancel := context.WithCancel(t.Context())
		s.guards.Go(func() { s.guard(ctx) })
		f.renewedAfter(0)
		synctest.Wait()
		f.renewedAfter(f.stopAfter() + 1)
		synctest.Wait()
		require.Len(t, stopped, 1)
		_, limit := f.Rights()
		require.NoError(t, limit.Err())
		time.Sleep(f.cutAfter() - f.stopAfter())
		synctest.Wait()
		require.Error(t, limit.Err())
		cancel()
		s.guards.Wait()
	})
}

// A channel that does not stop is cut off in time.
func TestMembership_guard_cutsChannelsThatDoNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(storage.NewMemoryDocuments())
		f.missed()
		stopped := make(stops)
		s := &Membership{fleet: f, channels: stopped}
		ctx, cancel := context.WithCancel(t.Context())
		s.guards.Go(func() { s.guard(ctx) })
		f.renewedAfter(0)
		synctest.Wait()
		_, limit := f.Rights()
		time.Sleep(f.cutAfter())
		synctest.Wait()
		require.Error(t, limit.Err())
		<-stopped
		cancel()
		s.guards.Wait()
	})
}

// deaf is a storage that gives no list.
type deaf struct{ storage.Documents }

func (deaf) List(ctx context.Context, _, _ string, _ int) ([]storage.Document, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestFleet_Sessions_waitsNoLongerThanALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(deaf{storage.NewMemoryDocuments()})
		began := time.Now()
		_, _, err := f.Sessions(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), leaseTime)
	})
}

// An instance whose reads are far apart gives the others more time once, and not forever.
func TestFleet_see_missesADeadInstanceHoweverSlowReadsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(storage.NewMemoryDocuments())
		dead := storage.Document{Key: InstancePrefix + "b", Revision: 1, Data: []byte(`{"session":"x","leaseMillis":1500}`)}
		f.see([]storage.Document{dead})
		for began := time.Now(); len(f.overdue()) == 0; f.see([]storage.Document{dead}) {
			require.LessOrEqual(t, time.Since(began), 3*leaseTime)
			time.Sleep(leaseTime * 6 / 10)
		}
	})
}
