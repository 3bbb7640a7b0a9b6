package manager_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/storage"
)

// FuzzStoredDocuments starts an instance on a storage with any documents in it. The
// instance serves requests, and the channel can be removed.
func FuzzStoredDocuments(f *testing.F) {
	f.Add(`{}`, `{}`, `{}`)
	f.Add(`3`, `null`, `[]`)
	f.Add(`{"settings": {"channelId": "x"}, "removing": true}`, `{"session": "s", "stopped": true}`, `{"session": "s", "leaseMillis": -1}`)
	f.Add(`{"removing": true, "restarts": 18446744073709551615}`, `{"session": "", "error": 1}`,
		`{"session": "", "leaseMillis": 9223372036854775807}`)
	f.Add(`{"settings": {"channelId": "x"}, "credentials": {"inputTopicSettings": "aes-256-gcm:AA=="}}`, `{}`, `{"beat": 1.5}`)
	f.Fuzz(func(t *testing.T, channel, claim, lease string) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t)
			for key, data := range map[string]string{"channels/x": channel, "claims/x": claim, "claims/y": claim, "instances/other": lease} {
				if storage.ValidData([]byte(data)) != nil {
					t.Skip("no driver stores that")
				}
				_, err := s.documents.Create(t.Context(), key, []byte(data))
				require.NoError(t, err)
			}
			i := s.start("a")
			managertest.Create(t, i.Manager, managertest.Channel("good"))
			pass(4 * leaseTime)
			if c, err := i.Get("x"); err == nil {
				require.True(t, c.Status.Stopped)
				require.NoError(t, i.Delete(t.Context(), "x"))
			}
			pass(takeover)
			require.Len(t, slices.Collect(i.All()), 1)
			require.Equal(t, 1, s.total())
			require.NoError(t, i.end())
			s.neverTwice()
		})
	})
}
