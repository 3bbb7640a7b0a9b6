package modelrepo_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// damages are what can happen to the file of a blob.
var damages = map[string]func(file string) error{
	"flip": func(file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		return os.WriteFile(file, data, 0o600)
	},
	"cut":  func(file string) error { return os.Truncate(file, 10) },
	"gone": os.Remove,
}

// contentFiles returns the files of the blobs of a folder.
func contentFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

func readContent(ctx context.Context, s *modelrepo.Store, at modelrepo.Path, format string) (string, error) {
	content, err := s.Open(ctx, at, format)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(content)
	if err == nil {
		err = content.Close()
	}
	return string(data), err
}

func TestStore_Upload_replacesDamagedContent(t *testing.T) {
	other := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "2.0"}
	for name, damage := range damages {
		for _, seen := range []bool{true, false} { // by a download before
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				store, err := disk.Open(t.Context(), dir, nil)
				require.NoError(t, err)
				defer func() { require.NoError(t, store.Close()) }()
				s, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs()})
				require.NoError(t, err)
				prepare(t, s)
				require.NoError(t, s.CreateVersion(t.Context(), other, modelrepo.VersionUpdate{}))
				good := strings.Repeat("some content ", 200_000)
				upload := func(at modelrepo.Path) {
					_, err := s.Upload(t.Context(), at, "f", strings.NewReader(good), nil)
					require.NoError(t, err)
				}
				upload(crashVersion)
				files := contentFiles(t, dir)
				require.Len(t, files, 1)
				require.NoError(t, damage(files[0]))

				if seen {
					for range 2 {
						_, err = readContent(t.Context(), s, crashVersion, "f")
						require.ErrorIs(t, err, modelrepo.ErrDamaged)
					}
					require.Equal(t, uint64(1), s.Stats().DamagedContents)
					known, err := s.Integrity(t.Context())
					require.NoError(t, err)
					require.Equal(t, 1, known.DamagedContents)
					require.Equal(t, []modelrepo.Hurt{{Version: "w3c/sosa/1.0", Format: "f"}}, known.Damaged[0].Versions)
				}
				upload(other)
				for _, at := range []modelrepo.Path{crashVersion, other} {
					data, err := readContent(t.Context(), s, at, "f")
					require.NoError(t, err)
					require.True(t, good == data)
				}
				require.Len(t, contentFiles(t, dir), 1, "the content is stored once")
				require.Equal(t, modelrepo.Stats{Uploads: 2, UploadedBytes: 2 * uint64(len(good)), ReplacedContents: 1}, s.Stats())
				known, err := s.Integrity(t.Context())
				require.NoError(t, err)
				require.Empty(t, known.Damaged)
			})
		}
	}
}

// rottenBlobs are blobs in memory whose bytes can be damaged. A new commit of a key repairs it.
type rottenBlobs struct {
	*storage.MemoryBlobs
	mu     sync.Mutex
	rotten map[string]bool
	opened int
}

type rottenReader struct {
	storage.BlobReader
	*bytes.Reader
}

func (r rottenReader) Read(p []byte) (int, error) { return r.Reader.Read(p) }
func (r rottenReader) Seek(offset int64, whence int) (int64, error) {
	return r.Reader.Seek(offset, whence)
}

func (b *rottenBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	reader, err := b.MemoryBlobs.Open(ctx, key)
	if err != nil || !b.rotten[key] {
		return reader, err
	}
	data, err := io.ReadAll(reader)
	data[0] ^= 1
	return rottenReader{reader, bytes.NewReader(data)}, err
}

func (b *rottenBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.rotten, key)
	return b.MemoryBlobs.Create(ctx, key)
}

// rot damages the blob with the bytes, or repairs it.
func (b *rottenBlobs) rot(t *testing.T, content string, damaged bool) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for info, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		reader, err := b.MemoryBlobs.Open(t.Context(), info.Key)
		require.NoError(t, err)
		data, err := io.ReadAll(reader)
		require.NoError(t, err)
		if string(data) == content {
			b.rotten[info.Key] = damaged
			return
		}
	}
	t.Fatalf("no blob has %q", content)
}

// rottenStore returns a repository with one version, which has the formats a, b and c with
// their names as content, twice each.
func rottenStore(t *testing.T, config modelrepo.Config) (*modelrepo.Store, *rottenBlobs) {
	t.Helper()
	blobs := &rottenBlobs{MemoryBlobs: storage.NewMemoryBlobs(), rotten: map[string]bool{}}
	if config.Blobs = blobs; config.Documents == nil {
		config.Documents = storage.NewMemoryDocuments()
	}
	s, err := modelrepo.New(config)
	require.NoError(t, err)
	prepare(t, s)
	for _, format := range []string{"a", "b", "c", "a2", "b2", "c2"} {
		_, err := s.Upload(t.Context(), crashVersion, format, strings.NewReader(format[:1]), nil)
		require.NoError(t, err)
	}
	return s, blobs
}

func TestStore_Upload_comparesWhatItShares(t *testing.T) {
	s, blobs := rottenStore(t, modelrepo.Config{})
	opened := func(format string) int {
		before := blobs.opened
		_, err := s.Upload(t.Context(), crashVersion, format, strings.NewReader("a"), nil)
		require.NoError(t, err)
		return blobs.opened - before
	}
	require.Equal(t, 1, opened("a3"), "the digest was compared lately")
	blobs.rot(t, "a", true)
	_, err := readContent(t.Context(), s, crashVersion, "a")
	require.ErrorIs(t, err, modelrepo.ErrDamaged)
	require.Greater(t, opened("a4"), 1)
	for _, format := range []string{"a", "a2", "a3", "a4"} {
		data, err := readContent(t.Context(), s, crashVersion, format)
		require.NoError(t, err)
		require.Equal(t, "a", data)
	}
	require.Equal(t, uint64(1), s.Stats().ReplacedContents)
}

func TestStore_DamagedFormats_namesThoseOfTheVersion(t *testing.T) {
	s, blobs := rottenStore(t, modelrepo.Config{})
	other := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "2.0"}
	require.NoError(t, s.CreateVersion(t.Context(), other, modelrepo.VersionUpdate{}))
	damaged := func(at modelrepo.Path) map[string]bool {
		formats, err := s.DamagedFormats(t.Context(), at)
		require.NoError(t, err)
		return formats
	}
	blobs.rot(t, "b", true)
	require.Empty(t, damaged(crashVersion), "it is not known")
	_, err := readContent(t.Context(), s, crashVersion, "b2")
	require.ErrorIs(t, err, modelrepo.ErrDamaged)
	require.Equal(t, map[string]bool{"b": true, "b2": true}, damaged(crashVersion))
	require.Empty(t, damaged(other))

	blobs.rot(t, "b", false)
	_, err = readContent(t.Context(), s, crashVersion, "b")
	require.NoError(t, err)
	require.Empty(t, damaged(crashVersion))
	other.Version = "3.0"
	_, err = s.DamagedFormats(t.Context(), other)
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
}

func TestStore_Import_repairsWhatIsKnownToBeDamaged(t *testing.T) {
	s, blobs := rottenStore(t, modelrepo.Config{})
	var archive bytes.Buffer
	require.NoError(t, s.Export(t.Context(), modelrepo.Path{Namespace: "w3c"}, &archive, nil))
	blobs.rot(t, "b", true)
	require.ErrorIs(t, s.Export(t.Context(), modelrepo.Path{Namespace: "w3c"}, io.Discard, nil), storage.ErrDamaged)
	require.Equal(t, uint64(1), s.Stats().DamagedContents)
	result, err := s.Import(t.Context(), &archive, &modelrepo.ImportOptions{Namespace: "w3c"})
	require.NoError(t, err)
	require.Equal(t, 1, result.Identical)
	data, err := readContent(t.Context(), s, crashVersion, "b2")
	require.NoError(t, err)
	require.Equal(t, "b", data)
	require.Zero(t, s.Stats().DamagedContents)
}

func TestStore_OpenPage_refusesADamagedPage(t *testing.T) {
	s, blobs := rottenStore(t, modelrepo.Config{})
	files := map[string][]byte{"index.md": []byte("# Title"), "data.txt": []byte("data")}
	_, err := s.GenerateDocumentation(t.Context(), crashVersion, modelrepo.GFM, files, false)
	require.NoError(t, err)
	blobs.rot(t, "data", true)
	page, err := s.OpenPage(t.Context(), crashVersion, "data.txt")
	require.NoError(t, err)
	_, err = io.ReadAll(page)
	require.ErrorIs(t, err, modelrepo.ErrDamaged)
	require.ErrorContains(t, err, "Please generate the documentation again.")
	require.NoError(t, page.Close())
}

func TestUploads_Continue_refusesADamagedPiece(t *testing.T) {
	s, blobs := rottenStore(t, modelrepo.Config{})
	up, err := s.Uploads().Begin(t.Context(), crashVersion, "pieces", 9, nil)
	require.NoError(t, err)
	_, err = s.Uploads().Continue(t.Context(), up.ID, 0, strings.NewReader("first"), modelrepo.Checksum{})
	require.NoError(t, err)
	blobs.rot(t, "first", true)
	_, err = s.Uploads().Continue(t.Context(), up.ID, 5, strings.NewReader("last"), modelrepo.Checksum{})
	require.ErrorIs(t, err, modelrepo.ErrDamaged)
	require.ErrorContains(t, err, "please upload again")
	_, err = s.Uploads().Get(t.Context(), up.ID)
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
	_, err = s.Stat(t.Context(), crashVersion, "pieces")
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
}

func TestStore_Scrub_findsDamageAndWhereItHurts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, blobs := rottenStore(t, modelrepo.Config{Scrub: modelrepo.ScrubConfig{Interval: -1}})
		blobs.rot(t, "b", true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		require.Zero(t, s.Stats().DamagedContents, "only on request")

		requested, err := s.Scrub(t.Context())
		require.NoError(t, err)
		require.True(t, requested.Requested)
		synctest.Wait()
		known, err := s.Integrity(t.Context())
		require.NoError(t, err)
		require.False(t, known.Scrub.Running || known.Scrub.Requested)
		require.False(t, known.Scrub.Ended.IsZero())
		require.Equal(t, []int64{3, 2, 1}, []int64{known.Scrub.Contents, known.Scrub.Bytes, known.Scrub.Damaged})
		require.Equal(t, 1, known.DamagedContents)
		require.Equal(t, []modelrepo.Hurt{{Version: "w3c/sosa/1.0", Format: "b"}, {Version: "w3c/sosa/1.0", Format: "b2"}},
			known.Damaged[0].Versions)
		require.Equal(t, uint64(1), s.Stats().DamagedContents)
		_, err = readContent(t.Context(), s, crashVersion, "b")
		require.ErrorIs(t, err, modelrepo.ErrDamaged)

		blobs.rot(t, "b", false) // restored
		_, err = s.Scrub(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, s.Stats().DamagedContents)
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestStore_Run_scrubsSlowlyByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, blobs := rottenStore(t, modelrepo.Config{Scrub: modelrepo.ScrubConfig{BytesPerSecond: 1}})
		large := strings.Repeat("x", 1000)
		_, err := s.Upload(t.Context(), crashVersion, "large", strings.NewReader(large), nil)
		require.NoError(t, err)
		go func() { _ = s.Run(t.Context()) }()
		time.Sleep(500 * time.Second)
		synctest.Wait()
		known, err := s.Integrity(t.Context())
		require.NoError(t, err)
		require.True(t, known.Scrub.Running)
		time.Sleep(600 * time.Second)
		known, err = s.Integrity(t.Context())
		require.NoError(t, err)
		require.False(t, known.Scrub.Running)
		require.Equal(t, int64(1003), known.Scrub.Bytes)

		blobs.rot(t, "c", true)
		time.Sleep(29 * 24 * time.Hour)
		require.Zero(t, s.Stats().DamagedContents)
		time.Sleep(2 * 24 * time.Hour)
		require.Equal(t, uint64(1), s.Stats().DamagedContents)
		require.NoError(t, s.DeleteContent(t.Context(), crashVersion, "c", modelrepo.Condition{}))
		time.Sleep(2 * time.Hour)
		require.Equal(t, uint64(1), s.Stats().DamagedContents, "another format has it")
		require.NoError(t, s.DeleteContent(t.Context(), crashVersion, "c2", modelrepo.Condition{}))
		time.Sleep(2 * time.Hour)
		require.Zero(t, s.Stats().DamagedContents, "nothing needs it any more")
	})
}

func TestStore_Run_goesOnWithAScrubThatAnotherProcessHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		s, blobs := rottenStore(t, modelrepo.Config{Documents: docs, Scrub: modelrepo.ScrubConfig{BytesPerSecond: 1}})
		for _, format := range []string{"p", "q"} {
			_, err := s.Upload(t.Context(), crashVersion, format, strings.NewReader(strings.Repeat(format, 1000)), nil)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(1500 * time.Second)
		cancel()
		require.NoError(t, <-ended)
		left, err := s.Integrity(t.Context())
		require.NoError(t, err)
		require.True(t, left.Scrub.Running)

		next, err := modelrepo.New(modelrepo.Config{Documents: docs, Blobs: blobs})
		require.NoError(t, err)
		go func() { _ = next.Run(t.Context()) }()
		time.Sleep(time.Minute)
		waiting, err := next.Integrity(t.Context())
		require.NoError(t, err)
		require.Equal(t, left, waiting, "the other one may be alive")
		time.Sleep(time.Hour)
		done, err := next.Integrity(t.Context())
		require.NoError(t, err)
		require.False(t, done.Scrub.Running)
		require.Equal(t, left.Scrub.Begun, done.Scrub.Begun)
	})
}
