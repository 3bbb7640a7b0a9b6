package integrity_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/storage"
)

// partSize is the size of the content whose parts are read: more than is compared before a part is sent.
const partSize = 12 << 20

// slowBlobs are blobs that need a time for each MiB.
type slowBlobs struct {
	storage.Blobs
	perMiB time.Duration
	read   atomic.Int64 // bytes of all readers
	broken atomic.Int32 // how many reads fail before others succeed
}

func (s *slowBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	blob, err := s.Blobs.Open(ctx, key)
	return &slowBlob{blob, s}, err
}

type slowBlob struct {
	storage.BlobReader
	blobs *slowBlobs
}

func (s *slowBlob) Read(p []byte) (int, error) {
	if s.blobs.broken.Add(-1) >= 0 {
		return 0, errors.New("the network is down")
	}
	n, err := s.BlobReader.Read(p)
	s.blobs.read.Add(int64(n))
	time.Sleep(s.blobs.perMiB * time.Duration(n) / (1 << 20))
	return n, err
}

// parted is a checker, blobs and one content of them, which is damaged or not.
type parted struct {
	*integrity.Checker
	blobs   *slowBlobs
	content integrity.Content
}

func newParted(t *testing.T, size int64, perMiB time.Duration, damaged bool) parted {
	t.Helper()
	data := bytes.Repeat([]byte("a"), int(size))
	digest := sha256.Sum256(data)
	if damaged {
		data[size/2] = 'X'
	}
	blobs := &slowBlobs{Blobs: storage.NewMemoryBlobs(), perMiB: perMiB}
	writer, err := blobs.Create(t.Context(), "blob/1")
	require.NoError(t, err)
	_, err = writer.Write(data)
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	checker := integrity.New(storage.NewMemoryDocuments(), blobs, &transfer.Copier{}, slog.New(slog.DiscardHandler))
	return parted{checker, blobs, integrity.Content{Blob: "blob/1", Size: size, SHA256: hex.EncodeToString(digest[:])}}
}

// part begins to read a part of n bytes.
func (p parted) part(t *testing.T, n int64) (reader io.Closer, compared func() error) {
	t.Helper()
	opened, err := p.Open(t.Context(), p.content)
	require.NoError(t, err)
	compared, err = opened.Part(n)
	require.NoError(t, err)
	return opened, compared
}

// run compares the content of which parts were sent.
func (p parted) run(t *testing.T) {
	t.Helper()
	none := func(context.Context) iter.Seq2[integrity.Content, error] {
		return func(func(integrity.Content, error) bool) {}
	}
	s := &integrity.Scrubber{Checker: p.Checker, Contents: none, Me: "me", Logger: slog.New(slog.DiscardHandler),
		Wake: make(chan struct{}, 1), Interval: time.Hour, BytesPerSecond: 1}
	go s.Run(t.Context())
}

func TestReader_Part_comparesOnceForAllParts(t *testing.T) {
	for name, damaged := range map[string]bool{"whole": false, "damaged": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newParted(t, partSize, time.Second, damaged)
				results := make(chan error)
				for range 4 {
					reader, compared := p.part(t, partSize/4)
					go func() {
						results <- compared()
						_ = reader.Close() // it was only read
					}()
					time.Sleep(time.Second)
				}
				for range 4 {
					if err := <-results; damaged {
						require.ErrorIs(t, err, storage.ErrDamaged)
					} else {
						require.NoError(t, err)
					}
				}
				require.Equal(t, int64(partSize), p.blobs.read.Load())
			})
		})
	}
}

func TestReader_Part_goesOnWhileOnePartIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParted(t, partSize, time.Second, true)
		first, _ := p.part(t, partSize/4)
		second, compared := p.part(t, partSize/4)
		time.Sleep(time.Second)
		require.NoError(t, first.Close())
		require.ErrorIs(t, compared(), storage.ErrDamaged)
		require.NoError(t, second.Close())
		require.Equal(t, int64(partSize), p.blobs.read.Load())
	})
}

func TestReader_Part_stopsToCompareWhenNoPartIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParted(t, partSize, time.Second, true)
		for range 2 { // the second one begins again
			reader, _ := p.part(t, partSize/4)
			time.Sleep(time.Second)
			require.NoError(t, reader.Close())
			time.Sleep(time.Hour)
		}
		require.Less(t, p.blobs.read.Load(), int64(partSize/2))
		reader, compared := p.part(t, partSize/4)
		require.ErrorIs(t, compared(), storage.ErrDamaged)
		require.NoError(t, reader.Close())
	})
}

func TestReader_Part_isHeldBackForAtMost20Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParted(t, partSize, 10*time.Second, true)
		p.run(t)
		begun := time.Now()
		for range 4 {
			reader, compared := p.part(t, partSize/4)
			go func() {
				_ = compared()     // as that of the last one
				_ = reader.Close() // it was only read
			}()
		}
		reader, compared := p.part(t, partSize/4)
		require.NoError(t, compared())
		require.Equal(t, 20*time.Second, time.Since(begun))
		synctest.Wait()
		require.NoError(t, reader.Close())
		require.Zero(t, p.Damaged())
		time.Sleep(101 * time.Second)
		require.Equal(t, 1, p.Damaged(), "it was compared in the background")
		require.Equal(t, int64(partSize), p.blobs.read.Load(), "it has gone on")
	})
}

func TestReader_Part_comparesAgainWhatCouldNotBeRead(t *testing.T) {
	for name, size := range map[string]int64{"small content": 1 << 20, "large content": partSize} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newParted(t, size, time.Millisecond, true)
				p.blobs.broken.Store(2)
				p.run(t)
				reader, compared := p.part(t, size/4)
				if compared != nil {
					require.NoError(t, compared())
				}
				require.NoError(t, reader.Close())
				time.Sleep(time.Minute)
				require.Equal(t, 1, p.Damaged())
			})
		})
	}
}

func TestChecker_Open_comparesDamagedContentOnceForAllReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParted(t, partSize, time.Second, true)
		p.Mark(t.Context(), p.content, storage.ErrDamaged)
		results := make(chan error)
		for range 4 {
			go func() {
				_, err := p.Open(t.Context(), p.content)
				results <- err
			}()
		}
		for range 4 {
			require.ErrorIs(t, <-results, storage.ErrDamaged)
		}
		require.Equal(t, int64(partSize), p.blobs.read.Load())
	})
}
