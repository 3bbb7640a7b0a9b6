//go:build linux

package faults

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServersRefuseAReadOnlyFolder starts servers on a file system that is read-only: over a
// folder with data, and without one. When it is writable again they have everything.
func TestServersRefuseAReadOnlyFolder(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		for _, fresh := range []bool{false, true} {
			d, written := newDisk(t, ample), newLedger()
			if !fresh {
				s := b.start(t, d.data())
				written.fill(t, s.kinds, 2)
				s.end(t)
			}
			require.NoError(t, syscall.Mount("faults", d.path, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
			_, line, listens := b.try(t, d.data(), launch{})
			require.False(t, listens)
			require.Contains(t, line, "read-only file system")
			require.Contains(t, line, "writable", "the message names the remedy: %s", line)
			d.resize(ample)
			s := b.start(t, d.data())
			require.NoError(t, written.verify(s.kinds, true))
			written.fill(t, s.kinds, 1)
			s.end(t)
		}
	})
}
