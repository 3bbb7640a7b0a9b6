package apimgmt_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

// slowDocuments stop before the first change of the catalogue begins.
type slowDocuments struct {
	storage.Documents
	once             sync.Once
	reached, release chan struct{}
}

func (d *slowDocuments) Update(ctx context.Context, key string, at storage.Revision, data []byte) (storage.Revision, error) {
	if key == "catalogue" {
		d.once.Do(func() {
			close(d.reached)
			<-d.release
		})
	}
	return d.Documents.Update(ctx, key, at, data)
}

// To a process whose clock is ahead everything is old, as it is to one with a grace period of a nanosecond.
func TestPublisher_Recover_keepsTheFilesOfAChangeThatIsAboutToBegin(t *testing.T) {
	s := newStage()
	slow := &slowDocuments{Documents: s.docs, reached: make(chan struct{}), release: make(chan struct{})}
	live := s.process(t, s.gateway, func(c *apimgmt.Config) { c.Documents = slow })
	result := make(chan error)
	go func() {
		_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/a"))})
		result <- err
	}()
	<-slow.reached
	ahead := s.open(t, nil)
	require.NoError(t, ahead.Recover(t.Context()))
	close(slow.release)
	require.NoError(t, <-result)
	require.Equal(t, "a 1 published: /a ()\n", s.state(t, live))
	require.NoError(t, ahead.Recover(t.Context()))
	require.Equal(t, "a 1 published: /a ()\n", s.state(t, ahead))
}

func TestPublisher_Recover_leavesTheCatalogueAloneWhereNothingIsUnused(t *testing.T) {
	s := prepared(t)
	p := s.open(t, nil)
	require.NoError(t, p.Recover(t.Context()))
	before, err := s.docs.Get(t.Context(), "catalogue")
	require.NoError(t, err)
	require.NoError(t, p.Recover(t.Context()))
	after, err := s.docs.Get(t.Context(), "catalogue")
	require.NoError(t, err)
	require.Equal(t, before.Revision, after.Revision, "changes under way go on")
}

func TestPublisher_Recover_keepsRecordsOfDeletedEnablersForTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		p := s.process(t, s.gateway, nil)
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/a"))})
		require.NoError(t, err)
		require.NoError(t, p.Delete(t.Context(), "a", "editor", apimgmt.Condition{}))
		const key = "enabler/a"
		doc, err := s.docs.Get(t.Context(), key)
		require.NoError(t, err)
		var record map[string]any
		require.NoError(t, json.Unmarshal(doc.Data, &record))
		record["removed"] = time.Now().Add(-2 * time.Hour) // by the clock of the process that deleted it
		data, err := json.Marshal(record)
		require.NoError(t, err)
		_, err = s.docs.Update(t.Context(), key, doc.Revision, data)
		require.NoError(t, err)
		for _, pause := range []time.Duration{0, 0, 59 * time.Minute} {
			time.Sleep(pause)
			require.NoError(t, p.Recover(t.Context()))
			_, err = s.docs.Get(t.Context(), key)
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		require.NoError(t, p.Recover(t.Context()))
		_, err = s.docs.Get(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrNotFound)
	})
}
