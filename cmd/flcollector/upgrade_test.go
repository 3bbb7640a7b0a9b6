package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/test/upgrade"
)

func TestRun_opensAFolderOfTheUndividedRooms(t *testing.T) {
	args := []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-park", "1s", "-log-level", "error",
		"-data", upgrade.Folder(t, "undivided/flcollector")}
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 2, args...)
		upgrade.Compare(t, upgrade.Comparison{Record: "undivided/flcollector", URL: p.URLs[0]})
		p.Stop()
	}

	p := upgrade.Start(t, run, 2, args...)
	parties, err := tumours.Parties()
	require.NoError(t, err)
	var ended []<-chan error
	target := strings.TrimPrefix(p.URLs[1], "grpc://")
	for i := range 3 {
		ended = append(ended, train(t, flower.ClientConfig{Target: target, Trainer: tumours.NewTrainer(parties[i])}))
	}
	for _, client := range ended {
		require.NoError(t, <-client)
	}
	require.Eventually(t, func() bool {
		state := upgrade.Call(t, http.StatusOK, http.MethodGet, p.URLs[0]+"/job/status/waiting", "", "")
		return strings.Contains(state, `"FINISHED"`)
	}, wait, tick, "a job that was created before is trained now")
	p.Stop()
}
