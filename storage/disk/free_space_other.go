//go:build !linux

package disk

// freeSpace is not known: package syscall has no call for it that all systems share.
func freeSpace(string) (free int64, ok bool) { return 0, false }
