package disk

import (
	"math"
	"syscall"
)

// freeSpace returns how many bytes can be written to the file system of a folder.
func freeSpace(dir string) (free int64, ok bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil || stat.Bsize <= 0 {
		return 0, false
	}
	blocks, size := stat.Bavail, uint64(stat.Bsize)
	if blocks > math.MaxInt64/size {
		return math.MaxInt64, true
	}
	return int64(blocks * size), true
}
