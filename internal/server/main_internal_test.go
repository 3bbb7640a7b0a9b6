package server

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessage_isOneLineWithAdvice(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.EMFILE:            "ulimit -n",
		syscall.ENFILE:            "sysctl fs.file-max",
		syscall.ENOSPC:            "free space on the disk",
		syscall.EDQUOT:            "quota",
		syscall.EROFS:             "writable",
		errors.New("bad weather"): "",
	} {
		err := errors.Join(fmt.Errorf("open %q: %w", "store.db", cause), errors.New("close: it was not open"))
		line := message("modelrepo", err)
		require.Contains(t, line, `modelrepo: open "store.db": `+cause.Error()+"; close: it was not open")
		require.Contains(t, line, want)
		require.NotContains(t, line, "\n")
	}
	require.Equal(t, "modelrepo: bad weather", message("modelrepo", errors.New("bad weather")))
}
