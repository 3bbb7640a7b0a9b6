package flower_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

func TestFromBytes_doesNotCopy(t *testing.T) {
	large := make([]byte, 8<<20)
	sent := flower.Parameters{Type: "homomorphic", Tensors: []flower.Blob{{large, large[:1]}, {}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	model, err := sent.Bytes()
	again := flower.FromBytes("homomorphic", model...)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	require.Equal(t, "homomorphic", again.Type)
	require.Equal(t, []int{8<<20 + 1}, model[0].Shape())
	require.Equal(t, []int{0}, model[1].Shape())
	for i := range sent.Tensors {
		require.True(t, bytes.Equal(bytes.Join(sent.Tensors[i], nil), bytes.Join(again.Tensors[i], nil)))
	}
}
