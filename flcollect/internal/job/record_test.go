package job

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
)

func TestRecord_quarantine_removesTheOldest(t *testing.T) {
	var r Record
	for i := range report.MaxQuarantined + 5 {
		r.quarantine([]report.Quarantine{{Round: i}})
	}
	require.Len(t, r.Quarantined, report.MaxQuarantined)
	require.Equal(t, 5, r.Quarantined[0].Round)
}

func FuzzRecord(f *testing.F) {
	stored, _, err := jobconfig.Config{Strategy: "avg", Rounds: 2, ClientConf: []map[string]any{{"lr": 0.1}}}.Stored()
	require.NoError(f, err)
	data, err := json.Marshal(Record{ID: "a", Outcome: Outcome{Token: "t", Config: stored}, State: report.Waiting})
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadRecord("a", data)
		if err != nil {
			return
		}
		r.phase()
		again, err := json.Marshal(r)
		require.NoError(t, err)
		same, err := ReadRecord("a", again)
		require.NoError(t, err)
		require.Equal(t, r.Config.Copy(), same.Config.Copy())
	})
}
