//go:build linux

package faults

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServersLoseNothingWhenThePowerFails cuts the power under load. What the kernel has
// taken and not yet written to the disk is lost, so each acknowledged write was synced.
func TestServersLoseNothingWhenThePowerFails(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		written, cuts := newLedger(), count(4, 40)
		d := newPoweredDisk(t)
		for cut := range cuts {
			s := b.start(t, d.data())
			require.NoError(t, written.verify(s.kinds, false), "after %d cuts", cut)
			written.fill(t, s.kinds, 1)
			workUntilKilled(t, s, written, time.Duration(rand.IntN(300_000))*time.Microsecond)
			d.cut()
		}
		s := b.start(t, d.data())
		require.NoError(t, written.verify(s.kinds, true))
		s.end(t)
		t.Logf("%d cuts, %d acknowledged writes", cuts, written.total)
		require.Greater(t, written.total, cuts)
	})
}

// poweredDisk is an ext4 file system on a file that has what was written to the disk, and not what the
// kernel still has in memory: it writes that after 30 seconds, or when a program syncs.
type poweredDisk struct {
	disk

	image string
}

func newPoweredDisk(t *testing.T) *poweredDisk {
	t.Helper()
	above := dataFolder(t)
	d := &poweredDisk{disk{t, filepath.Join(above, "disk")}, filepath.Join(above, "image")}
	require.NoError(t, os.MkdirAll(d.path, 0o700))
	run(t, "truncate", "-s", "128M", d.image)
	run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image)
	d.mount()
	t.Cleanup(func() { _ = syscall.Unmount(d.path, syscall.MNT_DETACH) })
	return d
}

func (d *poweredDisk) mount() {
	d.t.Helper()
	run(d.t, "mount", "-o", "loop,commit=600", d.image, d.path)
}

// cut takes what the disk has at this moment, and mounts that. Nothing may write meanwhile.
func (d *poweredDisk) cut() {
	d.t.Helper()
	kept := d.image + ".cut"
	run(d.t, "cp", "--sparse=always", d.image, kept)
	require.NoError(d.t, syscall.Unmount(d.path, 0)) // writes the rest, to the image that is given up
	require.NoError(d.t, os.Rename(kept, d.image))
	d.mount()
}

func run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	output, err := exec.Command(program, arguments...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, arguments, output)
}
