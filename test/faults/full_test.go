//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = 4096

// disk is a small file system in memory.
type disk struct {
	t    *testing.T
	path string
}

// newDisk mounts a file system of so many pages until the test ends.
func newDisk(t *testing.T, pages int) *disk {
	t.Helper()
	above := dataFolder(t)
	require.NoError(t, os.MkdirAll(above, 0o700))
	d := &disk{t, above}
	require.NoError(t, syscall.Mount("faults", above, "tmpfs", 0, size(pages)))
	t.Cleanup(func() { _ = syscall.Unmount(above, syscall.MNT_DETACH) })
	return d
}

func size(pages int) string { return fmt.Sprintf("size=%d", max(pages, 1)*page) } // 0 would be any size

// data is the folder of a server on the disk.
func (d *disk) data() string { return filepath.Join(d.path, "data") }

// resize changes the size.
func (d *disk) resize(pages int) {
	d.t.Helper()
	require.NoError(d.t, syscall.Mount("faults", d.path, "tmpfs", syscall.MS_REMOUNT, size(pages)))
}

// leave makes the disk have so many free pages.
func (d *disk) leave(pages int) {
	d.t.Helper()
	d.resize(d.used() + pages)
}

// used returns how many pages are in use.
func (d *disk) used() int {
	d.t.Helper()
	var stat syscall.Statfs_t
	require.NoError(d.t, syscall.Statfs(d.path, &stat))
	return int(stat.Blocks-stat.Bfree) * int(stat.Bsize) / page
}

// ample is a size that no test uses up.
const ample = 64 << 20 / page

// TestServersStartAfterAFirstStartOnAFullDisk starts each server for the first time on disks
// of one page more each, until the start succeeds and some pages are left. With room the next
// start works.
func TestServersStartAfterAFirstStartOnAFullDisk(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		step, failed := 1, 0
		if b.command == "enablers" {
			step = count(7, 1)
		}
		pages := 1
		for beyond := 0; beyond < 3; pages += step {
			d := newDisk(t, pages)
			s, line, listens := b.try(t, d.data(), launch{})
			if listens {
				beyond++
				for _, k := range s.kinds {
					if err := k.put(1); err != nil {
						require.ErrorIs(t, err, errNot, "with %d pages", pages)
					}
				}
				s.Kill()
				s.calm(t)
			} else {
				failed++
				require.Contains(t, line, "no space left on device", "with %d pages", pages)
			}
			d.resize(ample)
			s = b.start(t, d.data())
			written := newLedger()
			for _, k := range s.kinds {
				written.bookLocked(k.name).last = 1
			}
			written.fill(t, s.kinds, 1)
			require.NoError(t, written.verify(s.kinds, true), "with %d pages at first", pages)
			s.end(t)
		}
		t.Logf("a first start failed on %d sizes of a disk, up to %d pages, and succeeded after each", failed, pages)
	})
}

// TestServersLoseNothingOnAFullDisk lets the disk become full under load, with one free page
// more each time. What was acknowledged can be read while it is full; with room again the
// server goes on, and so does one that was killed and started on the full disk.
func TestServersLoseNothingOnAFullDisk(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		d, written := newDisk(t, ample), newLedger()
		s := b.start(t, d.data())
		written.fill(t, s.kinds, 2)
		fulls, restarts := 0, 0
		places := count(24, 96)
		if b.command == "enablers" {
			places = count(8, 96)
		}
		for pages := range places {
			d.leave(pages)
			full := fillUp(t, s, written)
			require.NoError(t, written.verify(s.kinds, false), "on a disk that is full, with %d pages left at first", pages)
			if full {
				fulls++
			}
			if pages%4 == 3 {
				s.Kill()
				s.calm(t)
				var line string
				var listens bool
				if s, line, listens = b.try(t, d.data(), launch{port: s.port}); listens { // tokens are those of an address
					restarts++
					require.NoError(t, written.verify(s.kinds, false), "after a start on a full disk")
					s.Kill()
				} else {
					require.Contains(t, line, "no space left on device")
				}
				d.resize(ample)
				s = b.start(t, d.data())
			}
			d.resize(ample)
			written.fill(t, s.kinds, 1)
			require.NoError(t, written.verify(s.kinds, false), "with room again")
		}
		require.NoError(t, written.verify(s.kinds, true))
		s.Kill()
		s.calm(t)
		s = b.start(t, d.data())
		require.NoError(t, written.verify(s.kinds, true))
		s.end(t)
		t.Logf("the disk was full %d times, %d starts worked on the full disk; %d acknowledged writes", fulls, restarts, written.total)
		require.NotZero(t, fulls)
	})
}

// fillUp writes until every kind was refused several times in sequence, or a bound. It reports
// whether the disk became full.
func fillUp(t *testing.T, s *server, written *ledger) (full bool) {
	t.Helper()
	const refusals, most = 3, 40
	for _, k := range s.kinds {
		refused := 0
		for range most {
			err := written.write(k)
			if err == nil {
				refused = 0
				continue
			}
			if errors.Is(err, errEnough) {
				break
			}
			require.ErrorIs(t, err, errNot)
			full = true
			if refused++; refused == refusals {
				break
			}
		}
	}
	return full
}
