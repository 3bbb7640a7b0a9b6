package modelrepo_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// interrupt returns stores that call the intruder before operation at, and a function
// that returns how many operations there were.
func interrupt(
	documents storage.Documents, blobs storage.Blobs, at int64, intruder func(),
) (storage.Documents, storage.Blobs, func() int64) {
	m := &crasher{before: func(n int64) {
		if n == at {
			intruder()
		}
	}}
	return crashingDocuments{m, documents}, crashingBlobs{m, blobs}, m.count.Load
}

// everywhere runs a scene with an interruption before each operation of its subject.
func everywhere(t *testing.T, scene func(t *testing.T, at int64) (operations int64)) {
	t.Helper()
	at := int64(1)
	for ; at <= scene(t, at); at++ {
	}
	require.Greater(t, at, int64(3), "the subject did too little to be interrupted")
}

func TestStore_Collect_losesNothingBetweenStepsOfAnUpload(t *testing.T) {
	for before := range 4 { // rounds that the same bytes, unreferenced, have been through
		for during := 1; during <= 4; during++ {
			t.Run(fmt.Sprintf("%d rounds before, %d between", before, during), func(t *testing.T) {
				everywhere(t, func(t *testing.T, at int64) int64 {
					documents, blobs := openMemory(t)
					collector := newWithoutGrace(t, documents, blobs)
					collect := func(rounds int) {
						for range rounds {
							_, err := collector.Collect(t.Context())
							require.NoError(t, err)
						}
					}
					prepare(t, collector)
					_, err := collector.Upload(t.Context(), crashVersion, "old", strings.NewReader("same"), nil)
					require.NoError(t, err)
					require.NoError(t, collector.DeleteContent(t.Context(), crashVersion, "old", modelrepo.Condition{}))
					collect(before)

					d, b, operations := interrupt(documents, blobs, at, func() { collect(during) })
					_, err = newWithoutGrace(t, d, b).Upload(t.Context(), crashVersion, "new", strings.NewReader("same"), nil)
					require.NoError(t, err)
					collect(4)
					require.Equal(t, "same", observe(t, collector)["new"], "collected before operation %d", at)
					requireClean(t, collector, documents, blobs, "afterwards")
					return operations()
				})
			})
		}
	}
}

func TestStore_Upload_losesNothingBetweenStepsOfACollection(t *testing.T) {
	// The history of the same bytes: rounds of collection since nothing refers to them,
	// or an upload that lost its ticket at one of its operations and continued.
	type history struct{ rounds, diedAt int64 }
	var histories []history
	for n := range int64(5) {
		histories = append(histories, history{rounds: n})
	}
	for at := int64(1); at <= 20; at++ {
		histories = append(histories, history{1, at}, history{2, at}, history{3, at})
	}
	for _, h := range histories {
		everywhere(t, func(t *testing.T, at int64) int64 {
			documents, blobs := openMemory(t)
			other := newWithoutGrace(t, documents, blobs)
			prepare(t, other)
			tidyUp := func() {
				for range h.rounds {
					_, err := other.Repair(t.Context())
					require.NoError(t, err)
					_, err = other.Collect(t.Context())
					require.NoError(t, err)
				}
			}
			d, b, _ := interrupt(documents, blobs, h.diedAt, tidyUp)
			if _, err := newWithoutGrace(t, d, b).Upload(t.Context(), crashVersion, "old", strings.NewReader("same"),
				nil); err == nil {
				require.NoError(t, other.DeleteContent(t.Context(), crashVersion, "old", modelrepo.Condition{}))
			} else {
				require.ErrorIs(t, err, modelrepo.ErrExpired)
			}
			if h.diedAt == 0 {
				tidyUp()
			}

			uploaded := false
			d, b, operations := interrupt(documents, blobs, at, func() {
				uploaded = true
				_, err := other.Upload(t.Context(), crashVersion, "new", strings.NewReader("same"), nil)
				require.NoError(t, err)
			})
			_, err := newWithoutGrace(t, d, b).Collect(t.Context())
			require.NoError(t, err)
			if uploaded {
				require.Equal(t, "same", observe(t, other)["new"], "%+v, uploaded before operation %d", h, at)
			}
			requireClean(t, other, documents, blobs, "afterwards")
			return operations()
		})
	}
}

// TestStore_Upload_withoutItsTicketChangesNothing stops an upload before one of its
// operations, removes its ticket, and continues it together with another upload of the
// same bytes, during the collection of its blob.
func TestStore_Upload_withoutItsTicketChangesNothing(t *testing.T) {
	for rounds := range 3 {
		for stopsAt := int64(1); stopsAt <= 12; stopsAt++ {
			everywhere(t, func(t *testing.T, at int64) int64 {
				documents, blobs := openMemory(t)
				other := newWithoutGrace(t, documents, blobs)
				prepare(t, other)
				stopped, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				d, b, _ := interrupt(documents, blobs, stopsAt, func() { close(stopped); <-goOn })
				dead := newWithoutGrace(t, d, b)
				go func() {
					_, err := dead.Upload(t.Context(), crashVersion, "old", strings.NewReader("same"), nil)
					ended <- err
				}()
				over := false
				select {
				case <-stopped:
				case err := <-ended:
					require.NoError(t, err)
					over = true
				}
				_, err := other.Repair(t.Context())
				require.NoError(t, err)
				for range rounds {
					_, err = other.Collect(t.Context())
					require.NoError(t, err)
				}
				revive := func() {
					if over {
						return
					}
					over = true
					close(goOn)
					if err := <-ended; err != nil {
						require.ErrorIs(t, err, modelrepo.ErrExpired)
					}
				}
				uploaded := false
				d, b, operations := interrupt(documents, blobs, at, func() {
					revive()
					uploaded = true
					_, err := other.Upload(t.Context(), crashVersion, "new", strings.NewReader("same"), nil)
					require.NoError(t, err)
				})
				_, err = newWithoutGrace(t, d, b).Collect(t.Context())
				require.NoError(t, err)
				revive()
				if uploaded {
					require.Equal(t, "same", observe(t, other)["new"], "stopped at %d, collected before %d", stopsAt, at)
				}
				requireClean(t, other, documents, blobs, "afterwards")
				return operations()
			})
		}
	}
}

func TestStore_Repair_refusesAnUploadOrLeavesIt(t *testing.T) {
	expired := 0
	everywhere(t, func(t *testing.T, at int64) int64 {
		documents, blobs := openMemory(t)
		other := newWithoutGrace(t, documents, blobs)
		prepare(t, other)
		d, b, operations := interrupt(documents, blobs, at, func() {
			for range 3 {
				_, err := other.Repair(t.Context())
				require.NoError(t, err)
				_, err = other.Collect(t.Context())
				require.NoError(t, err)
			}
		})
		_, err := newWithoutGrace(t, d, b).Upload(t.Context(), crashVersion, "f", strings.NewReader("data"), nil)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrExpired)
			require.NotContains(t, observe(t, other), "f")
			expired++
		} else {
			require.Equal(t, "data", observe(t, other)["f"])
		}
		requireClean(t, other, documents, blobs, "afterwards")
		return operations()
	})
	require.Positive(t, expired)
}

func TestStore_DeleteNamespace_leavesNoOrphan(t *testing.T) {
	kept, gone := 0, 0
	everywhere(t, func(t *testing.T, at int64) int64 {
		documents, blobs := openMemory(t)
		other := newWithoutGrace(t, documents, blobs)
		require.NoError(t, other.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
		var deletion error
		d, b, operations := interrupt(documents, blobs, at, func() { deletion = other.DeleteNamespace(t.Context(), "w3c") })
		creation := newWithoutGrace(t, d, b).CreateModel(t.Context(), crashModel, modelrepo.ModelUpdate{})
		seen := observe(t, other)
		switch {
		case creation == nil:
			kept++
			require.Equal(t, map[string]string{"w3c": "", "w3c/sosa": ""}, seen)
		default:
			gone++
			require.NoError(t, deletion)
			require.ErrorIs(t, creation, modelrepo.ErrNotFound)
			require.Empty(t, seen)
		}
		requireClean(t, other, documents, blobs, "afterwards")
		require.Equal(t, seen, observe(t, other))
		return operations()
	})
	require.Positive(t, kept)
	require.Positive(t, gone)
}

func TestStore_CreateModel_keepsAParentThatIsBeingDeleted(t *testing.T) {
	kept := 0
	everywhere(t, func(t *testing.T, at int64) int64 {
		documents, blobs := openMemory(t)
		other := newWithoutGrace(t, documents, blobs)
		require.NoError(t, other.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
		var creation error
		d, b, operations := interrupt(documents, blobs, at, func() {
			creation = other.CreateModel(t.Context(), crashModel, modelrepo.ModelUpdate{})
		})
		deletion := newWithoutGrace(t, d, b).DeleteNamespace(t.Context(), "w3c")
		seen := observe(t, other)
		if deletion != nil {
			kept++
			require.ErrorIs(t, deletion, modelrepo.ErrNotEmpty)
			require.NoError(t, creation)
			require.Equal(t, map[string]string{"w3c": "", "w3c/sosa": ""}, seen)
		} else {
			require.Empty(t, seen)
		}
		requireClean(t, other, documents, blobs, "afterwards")
		return operations()
	})
	require.Positive(t, kept)
}

func TestStore_RemoveVersion_keepsAVersionThatGetsAnAlias(t *testing.T) {
	kept := 0
	everywhere(t, func(t *testing.T, at int64) int64 {
		documents, blobs := openMemory(t)
		other := newWithoutGrace(t, documents, blobs)
		prepare(t, other)
		d, b, operations := interrupt(documents, blobs, at, func() {
			_, err := other.UpdateModel(t.Context(), crashModel, modelrepo.ModelUpdate{Aliases: map[string]string{"production": "1.0"}})
			require.NoError(t, err)
		})
		_, err := newWithoutGrace(t, d, b).RemoveVersion(t.Context(), crashVersion, nil)
		if err != nil {
			kept++
			require.ErrorIs(t, err, modelrepo.ErrAliased)
			changed, err := other.UpdateVersion(t.Context(), crashVersion, modelrepo.VersionUpdate{DefaultFormat: "f"})
			require.NoError(t, err)
			require.True(t, changed)
			removed, err := other.RemoveVersion(t.Context(), crashVersion, &modelrepo.RemoveOptions{Force: true})
			require.NoError(t, err)
			require.Equal(t, []string{"production"}, removed.Aliases)
		}
		_, err = other.Version(t.Context(), crashVersion)
		require.ErrorIs(t, err, modelrepo.ErrNotFound)
		requireClean(t, other, documents, blobs, "afterwards")
		return operations()
	})
	require.Positive(t, kept)
}

func TestStore_Upload_failsWhenItsVersionIsDeleted(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	deleting := readerFunc(func([]byte) (int, error) {
		require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
		return 0, io.EOF
	})
	_, err := s.Upload(t.Context(), crashVersion, "f", deleting, nil)
	require.ErrorIs(t, err, modelrepo.ErrNotFound)
	requireClean(t, s, documents, blobs, "afterwards")
}

func TestStore_Upload_leavesNothingWhenItsContextEnds(t *testing.T) {
	documents, blobs := openMemory(t)
	s := newWithoutGrace(t, documents, blobs)
	prepare(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := readerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	_, err := s.Upload(ctx, crashVersion, "f", cancelling, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
	for range blobs.List(t.Context(), "") {
		t.Fatal("a blob is left")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// prepare creates one version.
func prepare(t *testing.T, s *modelrepo.Store) {
	t.Helper()
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, s.CreateModel(t.Context(), crashModel, modelrepo.ModelUpdate{}))
	require.NoError(t, s.CreateVersion(t.Context(), crashVersion, modelrepo.VersionUpdate{}))
}
