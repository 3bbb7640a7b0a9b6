package flcollect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/test/upgrade"
)

func TestServer_Run_keepsWhatANewerVersionStored(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "job", config(3, 1)))
	w.end()
	job, inside := "job/job", []string{"job/job#config", "job/job#config/server_conf"}
	upgrade.AddNewerTo(t, w.documents, append(inside, job)...)

	w = w.restart(t, flcollect.Config{Initial: zeros})
	w.join(t, trainer{step: 1, examples: 1})
	w.untilState(t, "job", report.Finished)
	upgrade.RequireNewerIn(t, w.documents, append(inside, job)...)
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	w.until(t, "job", "in its second run", func(s flcollect.Status) bool { return s.Run == 2 })
	upgrade.RequireNewerIn(t, w.documents, job)
	doc, err := w.documents.Get(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, 1, upgrade.CountNewer(string(doc.Data)), "the configuration is a new one: %s", doc.Data)
}
