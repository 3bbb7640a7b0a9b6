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

// The folder scrubbed has two runs of one job.
func TestRun_opensAFolderOfAnEarlierVersion(t *testing.T) {
	for _, version := range []string{"undivided", "scrubbed"} {
		t.Run(version, func(t *testing.T) { opensAFolderOf(t, version) })
	}
}

func opensAFolderOf(t *testing.T, version string) {
	args := []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-park", "1s", "-log-level", "error",
		"-data", upgrade.Folder(t, version+"/flcollector")}
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 2, args...)
		require.Eventually(t, func() bool { // it was recorded while it waited for clients
			state := upgrade.Call(t, http.StatusOK, http.MethodGet, p.URLs[0]+"/job/status/waiting", "", "")
			return strings.Contains(state, `"round":0`)
		}, wait, tick)
		upgrade.Compare(t, upgrade.Comparison{Record: version + "/flcollector", URL: p.URLs[0], Ignored: []string{"clients_needed"}})
		if version == "scrubbed" {
			upgrade.Compare(t, upgrade.Comparison{Record: "scrubbed/flcollector-runs", URL: p.URLs[0]})
		}
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

func TestRun_keepsWhatANewerVersionStored(t *testing.T) {
	folder := upgrade.Folder(t, "undivided/flcollector")
	places := []string{
		"collector/job/waiting", "collector/job/1",
		"repository/model/uploaded/1", "repository/strategy/gentle", "repository/transformation/scale",
	}
	inside := []string{
		"collector/job/waiting#config", "collector/job/waiting#config/server_conf", "collector/job/waiting#config/privacy-mechanisms",
	}
	upgrade.AddNewer(t, folder, append(places, inside...)...)
	p := upgrade.Start(t, run, 2, "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
		"-park", "1s", "-log-level", "error",
		"-data", folder)
	api := p.URLs[0]
	upgrade.Call(t, http.StatusNoContent, http.MethodPut, api+"/strategy/meta/gentle", "",
		`{"strategy_name": "gentle", "strategy_description": "slower", "meta": {"class": "FedAdam", "eta": "0.01"}}`)
	upgrade.Call(t, http.StatusNoContent, http.MethodPut, api+"/model/meta/uploaded/1", "", `{"library": "numpy", "description": "again"}`)
	upgrade.Call(t, http.StatusNoContent, http.MethodPut, api+"/transformation/meta/scale", "",
		`{"id": "scale", "description": "again", "parameter_types": {"x": "array"}, "needs": {"GPU": false}}`)
	job := upgrade.Call(t, http.StatusOK, http.MethodGet, api+"/job/status/1", "", "")
	require.Contains(t, job, "FINISHED")
	upgrade.Call(t, http.StatusOK, http.MethodGet, api+"/job/stop", "", "")
	require.Contains(t, upgrade.Call(t, http.StatusOK, http.MethodGet, api+"/job/status/waiting", "", ""), "INTERRUPTED")
	p.Stop()
	upgrade.RequireNewer(t, folder, append(places, inside...)...)
	require.Contains(t, upgrade.Document(t, folder, "repository/strategy/gentle"), "0.01")
	require.Contains(t, upgrade.Document(t, folder, "repository/model/uploaded/1"), "again")
	require.Contains(t, upgrade.Document(t, folder, "repository/transformation/scale"), "again")
}

func TestRun_refusesTheFolderOfAnother(t *testing.T) {
	upgrade.Refuses(t, run, "flcollector", "modelrepo", "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0")
}
