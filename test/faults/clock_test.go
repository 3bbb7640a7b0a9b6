//go:build linux

package faults

import (
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	hour = 60 * 60
	year = 365 * 24 * hour
)

// clock is the clock of a server.
type clock struct {
	t    *testing.T
	file string
}

// newClock returns a clock that is right.
func newClock(t *testing.T) clock {
	t.Helper()
	c := clock{t, filepath.Join(filepath.Dir(dataFolder(t)), "clock")}
	require.NoError(t, os.WriteFile(c.file, make([]byte, 8), 0o600))
	return c
}

// set sets the clock to the right time and so many seconds.
func (c clock) set(seconds int64) {
	c.t.Helper()
	file, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	require.NoError(c.t, err)
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), 0)
	require.NoError(c.t, err)
	require.NoError(c.t, file.Close())
}

// serverDate returns the time that a server says it is.
func serverDate(t *testing.T, s *server) int64 {
	t.Helper()
	answer, err := http.Get(newClient(s.port).url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	date, err := http.ParseTime(answer.Header.Get("Date"))
	require.NoError(t, err)
	return date.Unix()
}

// TestServersGoOnWhenTheClockIsSet sets the clock of all blocks in one process back and forth,
// while they acknowledge writes, and before a start. At every time they have everything, take
// writes, and sign users in.
func TestServersGoOnWhenTheClockIsSet(t *testing.T) {
	needsFaults(t)
	all := blocks()
	b, data, written, c := all[len(all)-1], dataFolder(t), newLedger(), newClock(t)
	how := launch{program: filepath.Join(os.Getenv(programs), stepped), environment: []string{steps + "=" + c.file}}
	start := func() *server {
		s, line, listens := b.try(t, data, how)
		require.True(t, listens, line)
		return s
	}
	s := start()
	works := func(when string) {
		t.Helper()
		status, _, err := newClient(s.port).send(http.MethodGet, "/readyz", "", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, when)
		require.NoError(t, written.verify(s.kinds, true), when)
		tokens.Delete(data + "/apimanager") // it signs in again
		written.fill(t, s.kinds, 2)
		require.NoError(t, written.verify(s.kinds, true), when)
	}
	works("with the right time")
	for _, seconds := range []int64{-hour, 0, hour, 0, -10 * year, 0, 10 * year, 0, -10 * year, 10 * year, hour, 0} {
		c.set(seconds)
		require.InDelta(t, time.Now().Unix()+seconds, serverDate(t, s), 60, "the server does not have the time that was set")
		works("with the clock at " + strconv.FormatInt(seconds, 10))
	}
	done, defect := make(chan struct{}), make(chan error, 1)
	go func() { defect <- written.load(s.kinds, done, 1000) }()
	for range count(5, 50) {
		for _, seconds := range []int64{-hour, hour, -10 * year, 0} {
			c.set(seconds)
			<-time.After(20 * time.Millisecond) // of load
		}
	}
	close(done)
	require.NoError(t, <-defect)
	works("after the clock was set back and forth under load")
	for _, seconds := range []int64{-hour, hour, -10 * year, 0} {
		s.end(t)
		c.set(seconds)
		s = start()
		works("started at " + strconv.FormatInt(seconds, 10))
	}
	s.Kill()
	s.calm(t)
	t.Logf("%d acknowledged writes", written.total)
}
