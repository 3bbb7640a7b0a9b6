package modelrepo_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// resumable are the resumable uploads of a store or of a client.
type resumable interface {
	Begin(
		ctx context.Context, at modelrepo.Path, format string, length int64, opts *modelrepo.ResumableOptions,
	) (modelrepo.ResumableUpload, error)
	Get(ctx context.Context, id string) (modelrepo.ResumableUpload, error)
	Continue(
		ctx context.Context, id string, offset int64, content io.Reader, checksum modelrepo.Checksum,
	) (modelrepo.ResumableUpload, error)
	Cancel(ctx context.Context, id string) error
}

// eachWay runs a test on a store itself and over HTTP.
func eachWay(t *testing.T, run func(t *testing.T, s *modelrepo.Store, p resumable)) {
	t.Helper()
	for _, way := range []string{"store", "client"} {
		t.Run(way, func(t *testing.T) {
			documents, blobs := openMemory(t)
			s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
			require.NoError(t, err)
			prepare(t, s)
			if way == "store" {
				run(t, s, s.Uploads())
			} else {
				server := httptest.NewServer(rest.NewHandler(s, nil))
				defer server.Close()
				client, err := client.New(server.URL, nil)
				require.NoError(t, err)
				run(t, s, client.Uploads())
			}
			require.Empty(t, keys(t, blobs, "part/"))
		})
	}
}

func keys(t *testing.T, blobs storage.Blobs, prefix string) []string {
	t.Helper()
	var all []string
	for info, err := range blobs.List(t.Context(), prefix) {
		require.NoError(t, err)
		all = append(all, info.Key)
	}
	return all
}

func randomBytes(size int) []byte {
	data := make([]byte, size)
	source := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

func read(t *testing.T, s *modelrepo.Store, format string) string {
	t.Helper()
	content, err := s.Open(t.Context(), crashVersion, format)
	require.NoError(t, err)
	defer func() { require.NoError(t, content.Close()) }()
	data, err := io.ReadAll(content)
	require.NoError(t, err)
	return string(data)
}

func TestUploads_Continue_publishesWithTheLastByte(t *testing.T) {
	eachWay(t, func(t *testing.T, s *modelrepo.Store, p resumable) {
		upload, err := p.Begin(t.Context(), crashVersion, "text/plain", 10,
			&modelrepo.ResumableOptions{UploadOptions: modelrepo.UploadOptions{ContentType: "text/plain"}})
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(24*time.Hour), upload.Expires, time.Minute)

		upload, err = p.Continue(t.Context(), upload.ID, 0, strings.NewReader("hello"), modelrepo.Checksum{})
		require.NoError(t, err)
		require.Equal(t, int64(5), upload.Offset)
		require.Nil(t, upload.Result)
		_, err = s.Open(t.Context(), crashVersion, "text/plain")
		require.ErrorIs(t, err, modelrepo.ErrNotFound)

		upload, err = p.Continue(t.Context(), upload.ID, 5, strings.NewReader("world"), modelrepo.Checksum{})
		require.NoError(t, err)
		require.Equal(t, int64(10), upload.Offset)
		require.True(t, upload.Result.DefaultSet)
		require.Equal(t, "fc5e038d38a57032085441e7fe7010b0", upload.Result.MD5)
		require.Equal(t, "helloworld", read(t, s, "text/plain"))
		file, err := s.Stat(t.Context(), crashVersion, "")
		require.NoError(t, err)
		require.Equal(t, "text/plain", file.ContentType)

		upload, err = p.Get(t.Context(), upload.ID)
		require.NoError(t, err, "the last answer may have been lost")
		require.Equal(t, upload.Length, upload.Offset)
		require.NotNil(t, upload.Result)
		_, err = p.Continue(t.Context(), upload.ID, 10, strings.NewReader("!"), modelrepo.Checksum{})
		require.ErrorIs(t, err, modelrepo.ErrTooLong)
	})
}

func TestUploads_Begin_publishesEmptyContent(t *testing.T) {
	eachWay(t, func(t *testing.T, s *modelrepo.Store, p resumable) {
		upload, err := p.Begin(t.Context(), crashVersion, "f", 0, nil)
		require.NoError(t, err)
		require.NotNil(t, upload.Result)
		require.Empty(t, read(t, s, "f"))
	})
}

func TestUploads_Continue_refusesInvalidPieces(t *testing.T) {
	eachWay(t, func(t *testing.T, s *modelrepo.Store, p resumable) {
		upload, err := p.Begin(t.Context(), crashVersion, "f", 4, nil)
		require.NoError(t, err)
		_, err = p.Continue(t.Context(), upload.ID, 0, strings.NewReader("ab"), modelrepo.Checksum{})
		require.NoError(t, err)
		wrong := modelrepo.Checksum{Algorithm: "sha1", Sum: make([]byte, sha1.Size)}
		for _, bad := range []struct {
			offset int64
			data   io.Reader
			sum    modelrepo.Checksum
			want   error
		}{
			{0, strings.NewReader("ab"), modelrepo.Checksum{}, modelrepo.ErrOffset},
			{3, strings.NewReader("d"), modelrepo.Checksum{}, modelrepo.ErrOffset},
			{4, strings.NewReader(""), modelrepo.Checksum{}, modelrepo.ErrOffset},
			{2, strings.NewReader("cde"), modelrepo.Checksum{}, modelrepo.ErrTooLong},
			{2, iotest.OneByteReader(strings.NewReader("cde")), modelrepo.Checksum{}, modelrepo.ErrTooLong},
			{2, strings.NewReader("cd"), wrong, modelrepo.ErrChecksum},
			{2, strings.NewReader("c"), wrong, modelrepo.ErrChecksum},
		} {
			_, err := p.Continue(t.Context(), upload.ID, bad.offset, bad.data, bad.sum)
			require.ErrorIs(t, err, bad.want)
			now, err := p.Get(t.Context(), upload.ID)
			require.NoError(t, err)
			require.Equal(t, int64(2), now.Offset)
		}
		sum := sha1.Sum([]byte("cd"))
		_, err = p.Continue(t.Context(), upload.ID, 2, strings.NewReader("cd"),
			modelrepo.Checksum{Algorithm: "sha1", Sum: sum[:]})
		require.NoError(t, err)
		require.Equal(t, "abcd", read(t, s, "f"))
	})
}

func TestUploads_keepToTheRulesOfUploads(t *testing.T) {
	eachWay(t, func(t *testing.T, s *modelrepo.Store, p resumable) {
		begin := func(format string, options modelrepo.UploadOptions) (string, error) {
			upload, err := p.Begin(t.Context(), crashVersion, format, 1, &modelrepo.ResumableOptions{UploadOptions: options})
			return upload.ID, err
		}
		finish := func(id string) (modelrepo.ResumableUpload, error) {
			return p.Continue(t.Context(), id, 0, strings.NewReader("x"), modelrepo.Checksum{})
		}
		gone := func(id string) {
			t.Helper()
			_, err := p.Get(t.Context(), id)
			require.ErrorIs(t, err, modelrepo.ErrNotFound)
		}
		_, err := begin("", modelrepo.UploadOptions{})
		require.ErrorIs(t, err, modelrepo.ErrInvalid)
		_, err = p.Begin(t.Context(), crashVersion, "f", -1, nil)
		require.ErrorIs(t, err, modelrepo.ErrInvalid)
		_, err = p.Begin(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "9"}, "f", 1, nil)
		require.ErrorIs(t, err, modelrepo.ErrNotFound)
		for _, id := range []string{"", "../w3c", "00000000-0000-0000-0000-000000000000"} {
			gone(id)
			require.ErrorIs(t, p.Cancel(t.Context(), id), modelrepo.ErrNotFound)
		}

		early, err := begin("f", modelrepo.UploadOptions{})
		require.NoError(t, err)
		_, err = s.Upload(t.Context(), crashVersion, "f", strings.NewReader("first"), nil)
		require.NoError(t, err)
		_, err = finish(early)
		require.ErrorIs(t, err, modelrepo.ErrContentExists)
		gone(early)
		_, err = begin("f", modelrepo.UploadOptions{})
		require.ErrorIs(t, err, modelrepo.ErrContentExists)

		over, err := begin("f", modelrepo.UploadOptions{Overwrite: true})
		require.NoError(t, err)
		done, err := finish(over)
		require.NoError(t, err)
		require.True(t, done.Result.Overwrote)
		require.Equal(t, "x", read(t, s, "f"))

		conditional, err := begin("f",
			modelrepo.UploadOptions{Overwrite: true, Condition: modelrepo.Condition{Match: []string{done.Result.ETag()}}})
		require.NoError(t, err)
		require.NoError(t, s.DeleteContent(t.Context(), crashVersion, "f", modelrepo.Condition{}))
		_, err = finish(conditional)
		require.ErrorIs(t, err, modelrepo.ErrPrecondition)
		gone(conditional)

		wrong, err := begin("f", modelrepo.UploadOptions{Digests: modelrepo.Digests{MD5: make([]byte, 16)}})
		require.NoError(t, err)
		_, err = finish(wrong)
		require.ErrorIs(t, err, modelrepo.ErrDigest)
		gone(wrong)

		orphan, err := begin("f", modelrepo.UploadOptions{})
		require.NoError(t, err)
		require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
		require.NoError(t, s.CreateVersion(t.Context(), crashVersion, modelrepo.VersionUpdate{}))
		_, err = finish(orphan)
		require.ErrorIs(t, err, modelrepo.ErrNotFound, "it is another version of the same name")
		gone(orphan)

		cancelled, err := begin("f", modelrepo.UploadOptions{})
		require.NoError(t, err)
		require.NoError(t, p.Cancel(t.Context(), cancelled))
		gone(cancelled)
	})
}

// The connection of the client breaks at random, and the server restarts between its
// attempts.
func TestUploads_Continue_survivesBrokenConnectionsAndRestarts(t *testing.T) {
	folder, data := t.TempDir(), randomBytes(300_000)
	source := rand.New(rand.NewPCG(7, 7))
	open := func() (*disk.Store, *modelrepo.Store) {
		d, err := disk.Open(t.Context(), folder, nil)
		require.NoError(t, err)
		s, err := modelrepo.New(modelrepo.Config{Documents: d.Documents(), Blobs: d.Blobs()})
		require.NoError(t, err)
		modelrepo.SetPieceBytes(s, 20_000)
		return d, s
	}
	d, s := open()
	prepare(t, s)
	upload, err := s.Uploads().Begin(t.Context(), crashVersion, "f", int64(len(data)), nil)
	require.NoError(t, err)
	broken := errors.New("connection reset")
	for attempts := 0; upload.Result == nil; attempts++ {
		require.Less(t, attempts, 100)
		require.NoError(t, d.Close())
		d, s = open()
		upload, err = s.Uploads().Get(t.Context(), upload.ID)
		require.NoError(t, err)
		rest := data[upload.Offset:]
		got := source.IntN(50_000)
		reader := io.Reader(bytes.NewReader(rest))
		if got < len(rest) {
			reader = io.MultiReader(bytes.NewReader(rest[:got]), iotest.ErrReader(broken))
		}
		before := upload.Offset
		upload, err = s.Uploads().Continue(t.Context(), upload.ID, upload.Offset, reader, modelrepo.Checksum{})
		if got < len(rest) {
			require.ErrorIs(t, err, broken)
			require.ErrorIs(t, err, modelrepo.ErrIncomplete)
			require.Equal(t, before+int64(got), upload.Offset, "bytes that came were not kept")
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, string(data), read(t, s, "f"))
	require.Empty(t, keys(t, d.Blobs(), "part/"))
	require.NoError(t, d.Close())
}

func TestUploads_Continue_keepsOneOfConcurrentPieces(t *testing.T) {
	eachWay(t, func(t *testing.T, s *modelrepo.Store, p resumable) {
		data := randomBytes(90_000)
		upload, err := p.Begin(t.Context(), crashVersion, "f", int64(len(data)), nil)
		require.NoError(t, err)
		for offset := 0; offset < len(data); offset += 30_000 {
			errs := make([]error, 4)
			var together sync.WaitGroup
			for i := range errs {
				together.Go(func() {
					_, errs[i] = p.Continue(t.Context(), upload.ID, int64(offset), bytes.NewReader(data[offset:offset+30_000]),
						modelrepo.Checksum{})
				})
			}
			together.Wait()
			succeeded := 0
			for _, err := range errs {
				if err == nil {
					succeeded++
				} else {
					require.ErrorIs(t, err, modelrepo.ErrOffset)
				}
			}
			// Several may get the result, but the content is published once.
			require.True(t, succeeded == 1 || succeeded > 1 && offset == 60_000, "%d of %d", succeeded, len(errs))
		}
		require.Equal(t, string(data), read(t, s, "f"))
	})
}

func TestStore_Repair_removesExpiredUploads(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	patient, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	living, err := patient.Uploads().Begin(t.Context(), crashVersion, "f", 4, nil)
	require.NoError(t, err)
	_, err = patient.Uploads().Continue(t.Context(), living.ID, 0, strings.NewReader("ab"), modelrepo.Checksum{})
	require.NoError(t, err)
	abandoned, err := s.Uploads().Begin(t.Context(), crashVersion, "f", 4, nil)
	require.NoError(t, err)
	_, err = s.Uploads().Continue(t.Context(), abandoned.ID, 0, strings.NewReader("ab"), modelrepo.Checksum{})
	require.ErrorIs(t, err, modelrepo.ErrNotFound, "it has expired")

	repaired, err := s.Repair(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, repaired.Uploads)
	require.Len(t, keys(t, blobs, "part/"+living.ID), 1)
	require.Len(t, keys(t, blobs, "part/"), 1)
	_, err = documents.Get(t.Context(), "upload/"+abandoned.ID)
	require.ErrorIs(t, err, storage.ErrNotFound)

	require.NoError(t, s.Uploads().Cancel(t.Context(), living.ID))
	require.Empty(t, keys(t, blobs, "part/"))
}

// The process crashes before or after any operation of a resumable upload. The client
// gets the offset from another process and continues there.
func TestUploads_Continue_survivesACrashAnywhere(t *testing.T) {
	const data = "abcdefghij"
	for _, applyLast := range []bool{false, true} {
		deaths := 0
		for crashAt := int64(1); ; crashAt++ {
			documents, blobs := openMemory(t)
			open := func(documents storage.Documents, blobs storage.Blobs) *modelrepo.Store {
				s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
				require.NoError(t, err)
				modelrepo.SetPieceBytes(s, 3)
				return s
			}
			other := open(documents, blobs)
			prepare(t, other)
			upload, err := other.Uploads().Begin(t.Context(), crashVersion, "f", int64(len(data)), nil)
			require.NoError(t, err)
			crashed := &crasher{crashAt: crashAt, applyLast: applyLast}
			_, err = open(crashingDocuments{crashed, documents}, crashingBlobs{crashed, blobs}).
				Uploads().Continue(t.Context(), upload.ID, 0, strings.NewReader(data), modelrepo.Checksum{})
			what := fmt.Sprintf("crashed at operation %d (%v)", crashAt, applyLast)
			upload, statErr := other.Uploads().Get(t.Context(), upload.ID)
			require.NoError(t, statErr, what)
			if upload.Result == nil && err == nil {
				require.Equal(t, data, read(t, other, "f"), what)
			}
			upload, statErr = other.Uploads().Continue(t.Context(), upload.ID, upload.Offset,
				strings.NewReader(data[upload.Offset:]), modelrepo.Checksum{})
			require.NoError(t, statErr, what)
			require.Equal(t, int64(len(data)), upload.Offset, what)
			require.Equal(t, data, read(t, other, "f"), what)
			requireClean(t, newWithoutGrace(t, documents, blobs), documents, blobs, what)
			if crashed.count.Load() < crashAt {
				break
			}
			deaths++
		}
		require.Greater(t, deaths, 15)
	}
}
