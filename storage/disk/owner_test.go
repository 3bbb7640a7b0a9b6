package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func mark(dir string) string { return filepath.Join(dir, "format.json") }

func TestOpen_checksNothingWithoutAnOwner(t *testing.T) {
	dir := newFolder(t)
	require.NoFileExists(t, mark(dir))
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "other", "format": 9}`), 0o600))
	open(t, dir)
}

func TestOpen_leavesAFolderOfAnotherOwner(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "other", "format": 1}`), 0o600))
	_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
	require.ErrorIs(t, err, disk.ErrOwner)
	require.ErrorContains(t, err, "it is the folder of other, and this is this")
	require.NoFileExists(t, database(dir))
}

func TestOpen_refusesANewerFormat(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "this", "format": 2, "new": true}`), 0o600))
	_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
	require.ErrorIs(t, err, disk.ErrOwner)
	require.ErrorContains(t, err, "a newer version of this wrote format 2, and this one reads up to 1")
}

func TestOpen_refusesADamagedMark(t *testing.T) {
	for _, text := range []string{"", "{", `{"owner": ""}`, `{"owner": "this"}`, `[]`,
		`{"owner": "this", "format": 1, "from": 1}`, `{"owner": "this", "format": 1, "from": -1}`} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(mark(dir), []byte(text), 0o600))
		_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
		require.ErrorContains(t, err, "format.json does not say whose folder this is", "%q", text)
	}
}

func TestOpen_adoptDecidesOnAFolderWithoutAnOwner(t *testing.T) {
	dir := newFolder(t)
	foreign := errors.New("foreign")
	calls := 0
	adopt := func(err error) *disk.Options {
		return &disk.Options{Owner: "this", Adopt: func(store *disk.Store) error {
			calls++
			_, getErr := store.Documents().Get(t.Context(), "document")
			require.NoError(t, getErr)
			return err
		}}
	}
	_, err := disk.Open(t.Context(), dir, adopt(foreign))
	require.ErrorIs(t, err, foreign)
	require.NoFileExists(t, mark(dir))
	for range 2 {
		store, err := disk.Open(t.Context(), dir, adopt(nil))
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	require.Equal(t, 2, calls, "an owned folder is not adopted again")
	text, err := os.ReadFile(mark(dir))
	require.NoError(t, err)
	require.JSONEq(t, `{"owner": "this", "format": 1}`, string(text))
}

func TestMarkOwner_marksAFolderWithoutAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	require.NoError(t, disk.MarkOwner(dir, "this", 1))
	require.NoError(t, disk.MarkOwner(dir, "this", 1))
	require.ErrorIs(t, disk.MarkOwner(dir, "other", 1), disk.ErrOwner)
	require.NoError(t, disk.MarkOwner(dir, "this", 3))
	requireMark(t, dir, `{"owner": "this", "format": 3}`)
	require.ErrorIs(t, disk.MarkOwner(dir, "this", 2), disk.ErrOwner)
	require.NoFileExists(t, database(dir))
}

func requireMark(t *testing.T, dir, want string) {
	t.Helper()
	text, err := os.ReadFile(mark(dir))
	require.NoError(t, err)
	require.JSONEq(t, want, string(text))
}

// migration is a program whose format n has every document say {"format": n}.
type migration struct {
	t     *testing.T
	calls []int
	// fail is called before each document is changed.
	fail func(from int, key string) error
}

func (m *migration) options(format int) *disk.Options {
	return &disk.Options{Owner: "this", Format: format, Migrate: func(ctx context.Context, store *disk.Store, from int) error {
		m.calls = append(m.calls, from)
		for doc, err := range storage.All(ctx, store.Documents(), "") {
			require.NoError(m.t, err)
			next := fmt.Sprintf(`{"format":%d}`, from+1)
			if string(doc.Data) == next {
				continue // before an interruption
			}
			if from > 0 {
				require.JSONEq(m.t, fmt.Sprintf(`{"format":%d}`, from), string(doc.Data))
			}
			if m.fail != nil {
				if err := m.fail(from, doc.Key); err != nil {
					return err
				}
			}
			_, err = store.Documents().Update(ctx, doc.Key, doc.Revision, []byte(next))
			require.NoError(m.t, err)
		}
		return nil
	}}
}

func requireDocuments(t *testing.T, store *disk.Store, want string) {
	t.Helper()
	docs, err := store.Documents().List(t.Context(), "", "", 0)
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	for _, doc := range docs {
		require.JSONEq(t, want, string(doc.Data), doc.Key)
	}
}

func TestOpen_migratesAnEarlierFormat(t *testing.T) {
	for _, text := range []string{"", `{"owner": "this", "format": 1}`} {
		dir := newFolder(t)
		want := []int{0, 1, 2}
		if text != "" {
			require.NoError(t, os.WriteFile(mark(dir), []byte(text), 0o600))
			want = want[1:]
			store, err := disk.Open(t.Context(), dir, nil)
			require.NoError(t, err)
			doc, err := store.Documents().Get(t.Context(), "document")
			require.NoError(t, err)
			_, err = store.Documents().Update(t.Context(), doc.Key, doc.Revision, []byte(`{"format":1}`))
			require.NoError(t, err)
			require.NoError(t, store.Close())
		}
		m := &migration{t: t}
		for range 2 {
			store, err := disk.Open(t.Context(), dir, m.options(3))
			require.NoError(t, err)
			requireDocuments(t, store, `{"format":3}`)
			require.NoError(t, store.Close())
			require.Equal(t, want, m.calls, "once")
			requireMark(t, dir, `{"owner": "this", "format": 3}`)
		}
		_, err := disk.Open(t.Context(), dir, m.options(2))
		require.ErrorIs(t, err, disk.ErrOwner)
	}
}

func TestOpen_goesOnWithAnInterruptedMigration(t *testing.T) {
	dir := newFolder(t)
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	_, err = store.Documents().Create(t.Context(), "document-2", []byte(`{}`))
	require.NoError(t, err)
	require.NoError(t, store.Close())

	full := errors.New("full")
	m := &migration{t: t, fail: func(from int, key string) error {
		if from == 1 && key == "document-2" {
			return full
		}
		return nil
	}}
	_, err = disk.Open(t.Context(), dir, m.options(3))
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "change the records of this from format 1 to 2")
	requireMark(t, dir, `{"owner": "this", "format": 3, "from": 1}`)
	_, err = disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
	require.ErrorIs(t, err, disk.ErrOwner, "half of it is not for an earlier version")
	_, err = disk.Open(t.Context(), dir, &disk.Options{Owner: "other"})
	require.ErrorIs(t, err, disk.ErrOwner)

	m.fail = nil
	later := m.options(4)
	later.Adopt = func(*disk.Store) error { return errors.New("it has an owner") }
	store, err = disk.Open(t.Context(), dir, later)
	require.NoError(t, err, "also with a later version")
	requireDocuments(t, store, `{"format":4}`)
	require.NoError(t, store.Close())
	require.Equal(t, []int{0, 1, 1, 2, 3}, m.calls)
	requireMark(t, dir, `{"owner": "this", "format": 4}`)
}

func TestOpen_adoptsBeforeItMigrates(t *testing.T) {
	dir := newFolder(t)
	m := &migration{t: t}
	foreign := m.options(2)
	foreign.Adopt = func(*disk.Store) error { return disk.ErrOwner }
	_, err := disk.Open(t.Context(), dir, foreign)
	require.ErrorIs(t, err, disk.ErrOwner)
	require.Empty(t, m.calls)
	require.NoFileExists(t, mark(dir))
}

func TestOpen_migratesNoNewFolder(t *testing.T) {
	dir := t.TempDir()
	m := &migration{t: t}
	store, err := disk.Open(t.Context(), dir, m.options(3))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Empty(t, m.calls)
	requireMark(t, dir, `{"owner": "this", "format": 3}`)
}

func TestOpen_removesAMarkThatWasNotFinished(t *testing.T) {
	dir := newFolder(t)
	unfinished := mark(dir) + ".new-1"
	require.NoError(t, os.WriteFile(unfinished, []byte("{"), 0o600))
	open(t, dir)
	require.NoFileExists(t, unfinished)
}
