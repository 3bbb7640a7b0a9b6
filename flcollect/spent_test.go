package flcollect_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
)

// A crash may cost a job its whole budget before a model counts: what was released
// then stays released.
func TestServer_Result_isNoneForABudgetSpentWithoutAModel(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := private(5)
	conf.DPAdaptive["epsilon_budget"] = (epsilonAfter(t, 1) + epsilonAfter(t, 2)) / 2
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.until(t, "job", "begun", func(flcollect.Status) bool {
		doc, err := w.documents.Get(t.Context(), "job/job")
		return err == nil && bytes.Contains(doc.Data, []byte(`"checkpoint":`))
	})
	w.end()
	doc, err := w.documents.Get(t.Context(), "job/job")
	require.NoError(t, err)
	var record map[string]any
	require.NoError(t, json.Unmarshal(doc.Data, &record))
	record["released"] = 1
	data, err := json.Marshal(record)
	require.NoError(t, err)
	_, err = w.documents.Update(t.Context(), doc.Key, doc.Revision, data)
	require.NoError(t, err)

	n := &neighbours{}
	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs, Repository: n})
	status := again.until(t, "job", "over", func(s flcollect.Status) bool { return s.State.Ended() })
	require.Equal(t, report.Interrupted, status.State)
	require.True(t, status.BudgetSpent)
	require.Contains(t, status.Error, "no round has aggregated an update, so there is no result")
	require.Contains(t, status.Note, "is spent after 0 of 5 rounds")
	_, err = again.Result(t.Context(), "job")
	require.ErrorIs(t, err, flcollect.ErrNoResult)
}
