//go:build linux

package vmtest

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// archive writes a cpio archive in the "newc" form, which is what the Linux
// kernel unpacks as its first file system (Documentation/driver-api/early-userspace/buffer-format.rst
// of its source). Folders above a file are created with it.
type archive struct {
	w       io.Writer
	err     error
	inode   int
	folders map[string]bool
	names   map[string]bool
}

func newArchive(w io.Writer) *archive {
	return &archive{w: w, folders: map[string]bool{"": true, ".": true}, names: map[string]bool{}}
}

// file adds a file with these permissions. A second file of one name is left out.
func (a *archive) file(name string, mode fs.FileMode, content []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if a.names[name] {
		return
	}
	a.names[name] = true
	a.folder(path.Dir(name))
	a.entry(name, 0o100000|uint32(mode.Perm()), content)
}

// folder adds a folder and those above it.
func (a *archive) folder(name string) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if a.folders[name] {
		return
	}
	a.folders[name] = true
	a.folder(path.Dir(name))
	a.entry(name, 0o040755, nil)
}

// close ends the archive and returns the first error since it began.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}

// entry writes a header of thirteen numbers in eight hexadecimal digits, the
// name, and the content, both padded to a multiple of four bytes.
func (a *archive) entry(name string, mode uint32, content []byte) {
	if a.err != nil {
		return
	}
	a.inode++
	header := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		a.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0, name)
	for _, part := range []string{header, string(content)} {
		padding := strings.Repeat("\x00", -len(part)&3)
		if _, err := io.WriteString(a.w, part+padding); err != nil {
			a.err = fmt.Errorf("write %q to the initial file system: %w", name, err)
			return
		}
	}
}
