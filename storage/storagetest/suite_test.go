package storagetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// fault is a store that is wrong in one way.
type fault[S any] struct {
	what    string
	noticed []string // the checks that have to notice
	open    func() S
}

func TestDocuments_detectsFaults(t *testing.T) { testFaults(t, documentChecks(), documentFaults()) }

func TestBlobs_detectsFaults(t *testing.T) { testFaults(t, blobChecks(), blobFaults()) }

func TestClosedDocuments_detectsAnOpenStore(t *testing.T) {
	require.Error(t, closedDocuments().try(t.Context(), storage.NewMemoryDocuments()))
	require.Error(t, closedBlobs().try(t.Context(), storage.NewMemoryBlobs()))
}

// testFaults runs the checks over each faulty store, and asks that no check is
// there which notices nothing.
func testFaults[S any](t *testing.T, checks []check[S], faults []fault[S]) {
	useful := make(map[string]bool)
	for _, f := range faults {
		t.Run(f.what, func(t *testing.T) {
			for _, name := range f.noticed {
				at := slices.IndexFunc(checks, func(c check[S]) bool { return c.name == name })
				require.GreaterOrEqual(t, at, 0, "there is no check %q", name)
				require.Error(t, checks[at].try(t.Context(), f.open()), "the check %q did not notice", name)
				useful[name] = true
			}
		})
	}
	for _, c := range checks {
		require.True(t, useful[c.name], "no faulty store is noticed by the check %q", c.name)
	}
}
