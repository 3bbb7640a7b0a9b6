package admin

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// hooked are documents that let a test act before a page is listed or the head is replaced, once.
type hooked struct {
	storage.Documents
	list, update func()
}

func (d *hooked) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if act := d.list; act != nil {
		d.list = nil
		act()
	}
	return d.Documents.List(ctx, prefix, after, limit)
}

func (d *hooked) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if act := d.update; act != nil && key == headKey {
		d.update = nil
		act()
	}
	return d.Documents.Update(ctx, key, prev, data)
}

// configured is a configuration with one service.
func configured(host string) entity.Config {
	return entity.Config{Services: []entity.Service{{Host: host}}}
}

// requireStored reads the configuration that is stored, and what there is besides.
func requireStored(t *testing.T, r *record, host string) (rest []string) {
	t.Helper()
	config, h, _, err := r.load(t.Context())
	require.NoError(t, err)
	require.Equal(t, host, config.Services[0].Host)
	docs, err := r.docs.List(t.Context(), textKeys, "", 0)
	require.NoError(t, err)
	for _, doc := range docs {
		if !strings.HasPrefix(doc.Key, textKeys+h.Text+"/") {
			rest = append(rest, doc.Key)
		}
	}
	return rest
}

func TestSweeper_run_keepsAConfigurationThatIsStoredMeanwhile(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	writer := &record{docs: docs, piece: pieceSize}
	h, revision, err := writer.save(t.Context(), configured("a"), head{}, 0)
	require.NoError(t, err)
	slow := &hooked{Documents: docs}
	sweep := &sweeper{record: &record{docs: slow, piece: pieceSize}}
	for _, host := range []string{"b", "c", "d"} {
		slow.list = func() { // after the sweeper has read the head
			h, revision, err = writer.save(t.Context(), configured(host), h, revision)
			require.NoError(t, err)
		}
		require.NoError(t, sweep.run(t.Context()))
		require.Empty(t, requireStored(t, writer, host))
	}
}

// A writer may be suspended between its pieces and the head for as long as the sweeper does anything.
func TestSweeper_run_neverTakesTheTextOfAWriterThatSucceeds(t *testing.T) {
	for runs := range 5 {
		for _, others := range []bool{false, true} {
			docs := storage.NewMemoryDocuments()
			other := &record{docs: docs, piece: pieceSize}
			h, revision, err := other.save(t.Context(), configured("before"), head{}, 0)
			require.NoError(t, err)
			sweep, slow := &sweeper{record: other}, &hooked{Documents: docs}
			slow.update = func() {
				for i := range runs {
					require.NoError(t, sweep.run(t.Context()))
					if others && i == 0 {
						_, _, err := other.save(t.Context(), configured("other"), h, revision)
						require.NoError(t, err)
					}
				}
			}
			_, _, err = (&record{docs: slow, piece: 10}).save(t.Context(), configured("after"), h, revision)
			stored := "after"
			if err != nil {
				require.ErrorIs(t, err, storage.ErrConflict)
				require.Positive(t, runs)
				if stored = "before"; others {
					stored = "other"
				}
			}
			require.Empty(t, requireStored(t, other, stored), "%d runs, others %v", runs, others)
		}
	}
}

func TestSweeper_run_removesTheTextOfAWriterThatCrashed(t *testing.T) {
	for _, changed := range []bool{false, true} {
		r := &record{docs: storage.NewMemoryDocuments(), piece: 10}
		h, revision, err := r.save(t.Context(), configured("a"), head{}, 0)
		require.NoError(t, err)
		crashed := &hooked{Documents: r.docs, update: func() { panic("crash") }}
		require.Panics(t, func() {
			_, _, _ = (&record{docs: crashed, piece: 10}).save(t.Context(), configured("b"), h, revision)
		})
		require.NotEmpty(t, requireStored(t, r, "a"))
		sweep, host := &sweeper{record: r}, "a"
		require.NoError(t, sweep.run(t.Context()))
		require.NotEmpty(t, requireStored(t, r, "a"), "its writer may be at work")
		if changed {
			host = "c"
			_, _, err = r.save(t.Context(), configured(host), h, revision)
			require.NoError(t, err)
		} else {
			require.NoError(t, sweep.run(t.Context())) // replaces the head
			require.NotEmpty(t, requireStored(t, r, "a"))
		}
		require.NoError(t, sweep.run(t.Context()))
		require.Empty(t, requireStored(t, r, host))
		_, _, at, err := r.load(t.Context())
		require.NoError(t, err)
		require.NoError(t, sweep.run(t.Context()))
		_, _, same, err := r.load(t.Context())
		require.NoError(t, err)
		require.Equal(t, at, same, "nothing is left, so the head stays")
	}
}
