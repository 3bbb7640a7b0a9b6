//go:build linux

package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leastDescriptors is how many the runtime of Go takes before the program begins.
const leastDescriptors = 8

// TestServersNameTheLimitOfOpenFilesAtStart starts servers with few descriptors, one more each
// time, until three starts have succeeded.
func TestServersNameTheLimitOfOpenFilesAtStart(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		data, written := dataFolder(t), newLedger()
		s := b.start(t, data)
		written.fill(t, s.kinds, 2)
		s.end(t)
		limit, refused := leastDescriptors, 0
		for started := 0; started < 3; limit++ {
			s, line, listens := b.try(t, data, launch{descriptors: limit})
			if !listens {
				refused++
				require.Contains(t, line, "too many open files", "with %d descriptors", limit)
				require.Contains(t, line, "ulimit -n", "the message names the remedy: %s", line)
				continue
			}
			started++
			s.Kill()
			s.calm(t)
			s = b.start(t, data)
			require.NoError(t, written.verify(s.kinds, true))
			s.end(t)
		}
		t.Logf("%d starts were refused, with up to %d descriptors", refused, limit-4)
	})
}

// TestServersGoOnAfterDescriptorsRanOut takes all descriptors from servers under load. They say
// so in the log, answer no request with a success that was none, and go on when there are
// descriptors again.
func TestServersGoOnAfterDescriptorsRanOut(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		data, written := dataFolder(t), newLedger()
		s := b.start(t, data)
		written.fill(t, s.kinds, 3)
		for round := range count(4, 32) {
			limitDescriptors(t, s, openFiles(t, s)+round%4)
			var idle []net.Conn
			for range 8 { // connections that take what is left, and wait
				conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
				require.NoError(t, err)
				idle = append(idle, conn)
			}
			require.Eventually(t, func() bool { return strings.Contains(s.Output(), "too many open files") }, patience, 5*time.Millisecond,
				"the log says nothing:\n%s", s.Output())
			require.Contains(t, s.Output(), "ulimit -n")
			for _, k := range s.kinds {
				quick := make(chan error, 1)
				go func() { quick <- written.write(k) }()
				select {
				case err := <-quick:
					require.True(t, allowed(err), err)
				case <-time.After(20 * time.Millisecond): // it waits for a descriptor to connect with
					limitDescriptors(t, s, 0)
					err := <-quick
					require.True(t, allowed(err), err)
				}
			}
			limitDescriptors(t, s, 0)
			for _, conn := range idle {
				require.NoError(t, conn.Close())
			}
			written.fill(t, s.kinds, 1)
			require.NoError(t, written.verify(s.kinds, false))
		}
		s.end(t)
		s = b.start(t, data)
		require.NoError(t, written.verify(s.kinds, true))
		s.end(t)
	})
}

// openFiles returns how many descriptors the server has.
func openFiles(t *testing.T, s *server) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid()))
	require.NoError(t, err)
	return len(entries)
}

// limitDescriptors sets the limit of a server that runs. Zero is its largest.
func limitDescriptors(t *testing.T, s *server, most int) {
	t.Helper()
	soft := strconv.Itoa(most)
	if most == 0 {
		limits, err := exec.Command("prlimit", "--pid", strconv.Itoa(s.Pid()), "--nofile", "--output", "HARD", "--noheadings").Output()
		require.NoError(t, err)
		soft = strings.TrimSpace(string(limits))
	}
	output, err := exec.Command("prlimit", "--pid", strconv.Itoa(s.Pid()), "--nofile="+soft+":").CombinedOutput()
	require.NoError(t, err, string(output))
}
