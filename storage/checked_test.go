package storage_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// rotten is a blob whose bytes have changed since its commit.
type rotten struct {
	storage.BlobReader
	*bytes.Reader
}

func (r rotten) Read(p []byte) (int, error)                   { return r.Reader.Read(p) }
func (r rotten) Seek(offset int64, whence int) (int64, error) { return r.Reader.Seek(offset, whence) }

// open returns a reader of a committed blob that has other bytes by now.
func open(t *testing.T, committed, now string) storage.BlobReader {
	t.Helper()
	blobs := storage.NewMemoryBlobs()
	writer, err := blobs.Create(t.Context(), "key")
	require.NoError(t, err)
	_, err = io.WriteString(writer, committed)
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	reader, err := blobs.Open(t.Context(), "key")
	require.NoError(t, err)
	if now == committed {
		return reader
	}
	return rotten{reader, bytes.NewReader([]byte(now))}
}

func TestChecked_readsWhatHasItsDigest(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("some bytes ", 1000)} {
		var verdicts []error
		r := storage.Checked(open(t, text, text), "", func(err error) { verdicts = append(verdicts, err) })
		require.NoError(t, iotest.TestReader(r, []byte(text)))
		require.NotEmpty(t, verdicts)
		for _, err := range verdicts {
			require.NoError(t, err)
		}
		require.NoError(t, r.Close())
	}
}

func TestChecked_withholdsTheEndOfWhatIsDamaged(t *testing.T) {
	good := strings.Repeat("a", 10_000)
	for name, now := range map[string]string{
		"one bit": good[:5000] + "b" + good[5001:], "shorter": good[:9000], "longer": good + "a", "none": "",
	} {
		var verdict error
		r := storage.Checked(open(t, good, now), "", func(err error) { verdict = err })
		data, err := io.ReadAll(r)
		require.ErrorIs(t, err, storage.ErrDamaged, name)
		require.ErrorIs(t, verdict, storage.ErrDamaged, name)
		require.Less(t, len(data), len(good), name)
		_, err = r.Read(make([]byte, 1))
		require.ErrorIs(t, err, storage.ErrDamaged, "%s: the verdict stays", name)
	}
	other := storage.Checked(open(t, good, good), strings.Repeat("0", 64), nil)
	_, err := io.ReadAll(other)
	require.ErrorIs(t, err, storage.ErrDamaged, "of another digest than that of the caller")
}

func TestCheckedReader_Seek_readsAPartWithoutComparing(t *testing.T) {
	r := storage.Checked(open(t, "0123456789", "0123x56789"), "", nil)
	require.True(t, r.Checking())
	_, err := r.Seek(3, io.SeekStart)
	require.NoError(t, err)
	require.False(t, r.Checking())
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "3x56789", string(data))
	_, err = r.Seek(0, io.SeekStart)
	require.NoError(t, err)
	require.True(t, r.Checking())
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, storage.ErrDamaged)
}
