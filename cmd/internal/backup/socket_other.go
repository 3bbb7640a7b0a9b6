//go:build !linux

package backup

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
)

// socketAddress returns the address of the socket. Systems other than Linux have no
// shorter name for a folder than its path, and refuse one of more than about 100 bytes.
func socketAddress(dir string) (string, io.Closer, error) {
	return filepath.Join(dir, SocketName), io.NopCloser(strings.NewReader("")), nil
}

// ownerOnly does nothing: only Linux gives the file the mode of the socket. Until the
// mode is set the folder, of mode 0700, keeps others out.
func ownerOnly(string, string, syscall.RawConn) error { return nil }
