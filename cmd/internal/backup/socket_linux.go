package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// socketAddress returns the address of the socket, valid until the closer is closed. The
// address of a socket has at most 108 bytes, so it is that of the open folder in /proc.
func socketAddress(dir string) (string, io.Closer, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	if _, err := os.Stat(short); err != nil { // /proc is not mounted
		return filepath.Join(dir, SocketName), folder, nil
	}
	return short + "/" + SocketName, folder, nil
}

// ownerOnly gives the socket the mode 0600 before it gets its name.
func ownerOnly(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) })
	return errors.Join(err, failed)
}
