package disk

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteBack_coversAGrowingFileOnce(t *testing.T) {
	var end int64
	calls := 0
	w := writeBack{begin: func(_ *os.File, offset, length int64) error {
		require.Equal(t, end, offset)
		require.GreaterOrEqual(t, length, int64(writeBackStep))
		end, calls = offset+length, calls+1
		return errors.New("of no account")
	}}
	random := rand.New(rand.NewPCG(1, 2))
	for size := int64(0); size < 20*writeBackStep; size += random.Int64N(writeBackStep) {
		w.grown(size)
		require.LessOrEqual(t, end, size)
		require.Less(t, size-end, int64(writeBackStep))
	}
	require.Greater(t, calls, 8)
}

func TestWriteBack_leavesASmallFileToItsSync(t *testing.T) {
	w := writeBack{begin: func(*os.File, int64, int64) error {
		t.Error("write-back has begun")
		return nil
	}}
	w.grown(0)
	w.grown(writeBackStep - 1)
}

func TestWriteBack_isAcceptedByTheSystem(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	_, err = file.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, beginWriteBack(file, 4096, 1<<20-4096))
	require.NoError(t, file.Close())
}

func TestBlobs_keepsABlobWholeDuringWriteBack(t *testing.T) {
	store, err := Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	data := make([]byte, 3*writeBackStep+12345)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)

	writer, err := store.Blobs().Create(t.Context(), "large")
	require.NoError(t, err)
	begun := writer.(*blobWriter)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 77_777)
		_, err := writer.Write(rest[:n])
		require.NoError(t, err)
		rest = rest[n:]
	}
	require.GreaterOrEqual(t, begun.behind.begun, int64(2*writeBackStep))
	info, err := writer.Commit(t.Context())
	require.NoError(t, err)
	sum := md5.Sum(data)
	require.Equal(t, hex.EncodeToString(sum[:]), info.MD5)

	reader, err := store.Blobs().Open(t.Context(), "large")
	require.NoError(t, err)
	stored, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.True(t, bytes.Equal(data, stored))
}
