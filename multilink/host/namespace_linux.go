package host

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace that is held open.
type namespace struct {
	file  *os.File
	inode uint64
}

const ownNamespace = "/proc/thread-self/ns/net"

// openNamespace opens the namespace at a path, or the calling thread's.
func openNamespace(path string) (*namespace, error) {
	if path == "" {
		path = ownNamespace
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open namespace: %w", err)
	}
	inode, err := readInode(file)
	if err != nil {
		return nil, fmt.Errorf("open namespace %q: %w", path, err)
	}
	return &namespace{file, inode}, nil
}

func readInode(file *os.File) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return 0, err
	}
	return stat.Ino, nil
}

// in calls f on a thread that is in the namespace. A thread that is there
// already is not moved, because that needs CAP_SYS_ADMIN.
func (n *namespace) in(f func() error) error {
	runtime.LockOSThread()
	origin, err := openNamespace("")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer origin.file.Close()
	if origin.inode == n.inode {
		defer runtime.UnlockOSThread()
		return f()
	}
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return denied(fmt.Errorf("enter namespace %q: %w", n.file.Name(), err), "CAP_SYS_ADMIN")
	}
	defer func() {
		// A thread that cannot go back stays locked, and ends with its goroutine.
		if unix.Setns(int(origin.file.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return f()
}

func (n *namespace) close() error { return n.file.Close() }
