//go:build linux && (amd64 || arm64)

package jsondoc_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func TestDocument_Load_refusesTextsOf4GiB(t *testing.T) {
	text, err := syscall.Mmap(-1, 0, 1<<32, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(text)) }()
	_, doc := newDocument(input.Limits{})
	require.EqualError(t, doc.Load(text), "JSON line 1 column 1: text of 4294967296 bytes, at most 4294967294 are read")
}
