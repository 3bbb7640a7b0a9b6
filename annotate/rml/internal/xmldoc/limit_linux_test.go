//go:build amd64 || arm64

package xmldoc_test

import (
	"math"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

func TestDocument_Load_refusesInputBeyond32BitOffsets(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("needs 64-bit addresses")
	}
	unreadable, err := syscall.Mmap(-1, 0, math.MaxUint32+1, syscall.PROT_NONE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(unreadable)) }()
	err = xmldoc.New(nil, input.Limits{}).NewDocument().Load(unreadable)
	require.ErrorContains(t, err, "larger than the largest possible")
}
