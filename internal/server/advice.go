package server

import (
	"errors"
	"syscall"
)

// advice returns what an operator can do about an error of the machine, to be written behind
// it. It is empty for other errors.
func advice(err error) string {
	for _, known := range []struct {
		cause  error
		advice string
	}{
		{syscall.EMFILE, "raise the limit of open files of this process (ulimit -n)"},
		{syscall.ENFILE, "raise the limit of open files of this machine (sysctl fs.file-max)"},
		{syscall.ENOSPC, "free space on the disk and start again; nothing else is needed"},
		{syscall.EDQUOT, "free space within the quota of this user and start again; nothing else is needed"},
		{syscall.EROFS, "mount the file system writable, or give another folder"},
	} {
		if errors.Is(err, known.cause) {
			return "; " + known.advice
		}
	}
	return ""
}
