package apimgmt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/upgrade"
)

// Also when a change breaks at any step, and another process ends it.
func TestPublisher_Recover_keepsWhatANewerVersionStored(t *testing.T) {
	places := []string{"catalogue", "enabler/a", "enabler/a#versions/*"}
	newer := func(t *testing.T) stage {
		s := prepared(t)
		upgrade.AddNewerTo(t, s.docs, places...)
		return s
	}
	for _, name := range []string{"describe", "replace a version", "end a version"} {
		t.Run(name, func(t *testing.T) {
			operation, count := operations()[name], &faultSchedule{}
			calm := newer(t)
			require.NoError(t, operation(t.Context(), calm.open(t, count)))
			upgrade.RequireNewerIn(t, calm.docs, places...)
			for at := 1; at <= count.steps; at++ {
				for _, late := range []bool{false, true} {
					where := fmt.Sprintf("step %d, late %v", at, late)
					s := newer(t)
					_ = operation(t.Context(), s.open(t, &faultSchedule{at: at, late: late, dead: true}))
					require.NoError(t, s.open(t, nil).Recover(t.Context()), where)
					upgrade.RequireNewerIn(t, s.docs, places...)
				}
			}
		})
	}
}

func TestPublisher_Recover_commitsTheRecordOfANewerVersion(t *testing.T) {
	s := prepared(t)
	p := s.open(t, nil)
	doc, err := s.docs.Get(t.Context(), "enabler/a")
	require.NoError(t, err)
	head, err := s.docs.Get(t.Context(), "catalogue")
	require.NoError(t, err)
	pending := fmt.Sprintf(`{"format":1,"serial":9,"intent":{"id":"i","op":"describe","holder":"h","at":"2026-11-01T10:00:00Z",
		"key":"a","routing":false,"after":%s}}`, `{"serial":9,`+string(doc.Data[len(`{"serial":3,`):]))
	_, err = s.docs.Update(t.Context(), head.Key, head.Revision, []byte(pending))
	require.NoError(t, err)
	upgrade.AddNewerTo(t, s.docs, "catalogue#intent/after", "catalogue#intent/after/versions/*")
	require.NoError(t, p.Recover(t.Context()))
	upgrade.RequireNewerIn(t, s.docs, "enabler/a", "enabler/a#versions/*")
}

func TestPublisher_Publish_beginsAnewAfterADeletion(t *testing.T) {
	s := prepared(t)
	upgrade.AddNewerTo(t, s.docs, "enabler/a", "enabler/a#versions/*")
	p := s.open(t, nil)
	require.NoError(t, operations()["delete a version"](t.Context(), p))
	require.NoError(t, operations()["replace a version"](t.Context(), p))
	require.Equal(t, 2, upgrade.CountNewer(stored(t, s.docs, "enabler/a")), "the record, and version 1")
	require.NoError(t, operations()["delete"](t.Context(), p))
	require.NoError(t, operations()["replace a version"](t.Context(), p))
	require.Zero(t, upgrade.CountNewer(stored(t, s.docs, "enabler/a")))
}

func stored(t *testing.T, docs storage.Documents, key string) string {
	t.Helper()
	doc, err := docs.Get(t.Context(), key)
	require.NoError(t, err)
	return string(doc.Data)
}
