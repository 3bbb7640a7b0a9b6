//go:build linux

package faults

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServersLoseNothingWhenTheyAreKilledUnderLoad kills servers while they acknowledge
// writes.
func TestServersLoseNothingWhenTheyAreKilledUnderLoad(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		data, written, kills := dataFolder(t), newLedger(), count(25, 100)
		for kill := range kills {
			s := b.start(t, data)
			require.NoError(t, written.verify(s.kinds, false), "after %d kills", kill)
			workUntilKilled(t, s, written, time.Duration(rand.IntN(150_000))*time.Microsecond)
		}
		s := b.start(t, data)
		require.NoError(t, written.verify(s.kinds, true))
		s.end(t)
		t.Logf("%d kills, %d acknowledged writes", kills, written.total)
		require.Greater(t, written.total, kills)
	})
}

// workUntilKilled loads the server, kills it after the time, and checks that it did not end
// by itself.
func workUntilKilled(t *testing.T, s *server, written *ledger, after time.Duration) {
	t.Helper()
	done := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		s.Kill()
		close(done)
	})
	defer timer.Stop()
	require.NoError(t, written.load(s.kinds, done, 1000))
	<-done
	require.Equal(t, -1, s.AwaitEnd(), "it ended by itself:\n%s", s.Output())
	s.calm(t)
}

// TestServersStartAfterTheyWereKilledAtStart kills servers within the first milliseconds: the
// first start of a folder, and a start with data.
func TestServersStartAfterTheyWereKilledAtStart(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		old, written := dataFolder(t), newLedger()
		s := b.start(t, old)
		began := time.Now()
		written.fill(t, s.kinds, 3)
		s.end(t)
		s = b.start(t, old)
		usual := max(time.Since(began), 40*time.Millisecond) // an upper bound of a start
		s.end(t)
		usual = min(usual, 600*time.Millisecond)
		kills, above := count(25, 100), dataFolder(t)
		for kill := range kills {
			fresh := filepath.Join(above, "new", time.Now().Format("150405.000000000"))
			for _, data := range []string{fresh, old} {
				s := b.launched(t, data, launch{})
				<-time.After(time.Duration(rand.Int64N(int64(usual))))
				s.Kill()
				s.calm(t)
			}
			s := b.start(t, fresh)
			first := newLedger()
			first.fill(t, s.kinds, 1)
			require.NoError(t, first.verify(s.kinds, true))
			s.Kill()
			if kill%10 == 0 || kill == kills-1 {
				s := b.start(t, old)
				require.NoError(t, written.verify(s.kinds, true), "after %d kills", kill)
				s.Kill()
			}
		}
		t.Logf("%d kills of a first start and of a later one, within %v", kills, usual)
	})
}
