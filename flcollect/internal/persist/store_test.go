package persist_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Insist_repeatsAndReportsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var troubles []error
		store := persist.Store{Trouble: func(err error) { troubles = append(troubles, err) }}
		tries := 0
		require.NoError(t, store.Insist(t.Context(), func() error {
			if tries++; tries < 3 {
				return storage.ErrUnavailable
			}
			return nil
		}))
		require.Equal(t, []error{storage.ErrUnavailable, storage.ErrUnavailable, nil}, troubles)
	})
}

func TestStore_Insist_endsWhereNoRepetitionHelps(t *testing.T) {
	store := persist.Store{Trouble: func(error) { t.Error("the operation was repeated") }}
	for _, final := range []error{storage.ErrConflict, storage.ErrInvalidKey, storage.ErrNotFound, persist.ErrDamaged} {
		require.ErrorIs(t, store.Insist(t.Context(), func() error { return final }), final)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	require.ErrorIs(t, store.Insist(ctx, func() error { return storage.ErrUnavailable }), stopped)
}

func TestStore_Create_recognisesWhatALostAnswerHasWritten(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	first, err := store.Create(t.Context(), "a", []byte(`1`))
	require.NoError(t, err)
	again, err := store.Create(t.Context(), "a", []byte(`1`))
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = store.Create(t.Context(), "a", []byte(`2`))
	require.ErrorIs(t, err, storage.ErrExists)
	second, err := store.Update(t.Context(), "a", first, []byte(`2`))
	require.NoError(t, err)
	again, err = store.Update(t.Context(), "a", first, []byte(`2`))
	require.NoError(t, err)
	require.Equal(t, second, again)
	_, err = store.Update(t.Context(), "a", first, []byte(`3`))
	require.ErrorIs(t, err, storage.ErrConflict)
}

func TestStore_Put_replacesNothingOfTheNextServer(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	moved := errors.New("another server has it")
	first, err := documents.Create(t.Context(), "a", []byte(`1`))
	require.NoError(t, err)
	store := persist.Store{Documents: documents, Holds: func(context.Context) error { return nil }}
	require.NoError(t, store.Put(t.Context(), "a", []byte(`2`)))
	store.Holds = func(context.Context) error { return moved }
	require.ErrorIs(t, store.Put(t.Context(), "a", []byte(`3`)), moved)
	require.NoError(t, store.Put(t.Context(), "b", []byte(`3`)))

	asked := 0
	store.Holds = func(context.Context) error {
		if asked++; asked > 1 {
			return moved
		}
		doc, err := documents.Get(t.Context(), "a") // the next server takes the job, and writes
		require.NoError(t, err)
		require.NotEqual(t, first, doc.Revision)
		_, err = documents.Update(t.Context(), "a", doc.Revision, []byte(`4`))
		return err
	}
	require.ErrorIs(t, store.Put(t.Context(), "a", []byte(`5`)), moved)
	doc, err := documents.Get(t.Context(), "a")
	require.NoError(t, err)
	require.JSONEq(t, `4`, string(doc.Data))
}

func TestHealth_Err_namesTheFirstJob(t *testing.T) {
	h := persist.NewHealth()
	require.NoError(t, h.Err())
	require.True(t, h.Set("b", storage.ErrUnavailable))
	require.False(t, h.Set("b", storage.ErrUnavailable))
	require.True(t, h.Set("a", storage.ErrUnavailable))
	require.ErrorContains(t, h.Err(), `store job "a"`)
	h.Set("", storage.ErrUnavailable)
	require.ErrorContains(t, h.Err(), "read the stored jobs")
	for _, id := range []string{"", "a", "b"} {
		h.Set(id, nil)
	}
	require.NoError(t, h.Err())
}
