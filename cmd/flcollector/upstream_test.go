package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// TestRun_followsAnUpperCollector trains with clients at two edges, which prove who they
// are by a token and by a certificate.
func TestRun_followsAnUpperCollector(t *testing.T) {
	const two = `{"strategy": "FedAdam", "model_name": "tumours", "model_version": "1.0", "configuration_id": 1,
	"server_conf": {"num_rounds": 3}, "privacy-mechanisms": {}, "client_conf": [{"epochs": 2, "learning_rate": 0.1}],
	"strategy_conf": {"min_fit_clients": 2, "min_evaluate_clients": 2, "min_available_clients": 2}}`
	a := servertest.NewAuthority(t)
	own, edge := a.Issue("collector"), a.Issue("edge")
	top := start(t, "-grpc-cert", own.Cert, "-grpc-key", own.Key, "-grpc-client-ca", a.File)
	top.configure(t, "7", two)
	first := start(t, "-upstream", top.grpc, "-upstream-ca", a.File, "-upstream-cert", edge.Cert, "-upstream-key", edge.Key)
	third := a.Issue("third")
	second := start(t, "-upstream", top.grpc, "-upstream-ca", a.File, "-upstream-cert", third.Cert, "-upstream-key", third.Key)
	var ended []<-chan error
	for _, p := range []*process{first, second} {
		p.configure(t, "7", configuration)
		ended = append(ended, train(t, flower.ClientConfig{Target: p.grpc}))
	}
	for _, one := range ended {
		require.NoError(t, <-one)
	}
	require.Eventually(t, func() bool { return top.status(t, "7") == status{"FINISHED", 3} }, wait, tick)
	require.Contains(t, top.get(t, "/training-results/tumours/1.0"), `"rounds":"3"`)
	require.Contains(t, top.get(t, "/job/rounds/7"), `"below":{"collectors":2,"clients":2,"results":2,`)
	for _, p := range []*process{first, second} {
		require.Eventually(t, func() bool { return p.status(t, "7") == status{"FINISHED", 3} }, wait, tick)
		require.NoError(t, p.Stop())
	}
	require.NoError(t, top.Stop())
}

func TestRun_sendsTheTokenToAnUpperCollector(t *testing.T) {
	top := guarded(t)
	edge := start(t, "-upstream", top.grpc, "-upstream-token", "hospital-with-16-characters", "-upstream-name", "Hospital 7")
	edge.configure(t, "1", configuration)
	require.NoError(t, <-train(t, flower.ClientConfig{Target: edge.grpc}))
	require.Eventually(t, func() bool { return edge.status(t, "1") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, edge.Stop())
	require.NotContains(t, edge.Log.String(), "with-16-characters")
	require.NoError(t, top.Stop())
}

func TestRun_refusesAtAnEdgeAStrategyThatNeedsEveryUpdate(t *testing.T) {
	edge := start(t, "-upstream", "127.0.0.1:1")
	config := strings.Replace(configuration, `"avg"`, `"Krum"`, 1)
	answer, err := http.Post(edge.web+"/job/config/1", "application/json", strings.NewReader(config))
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnprocessableEntity, answer.StatusCode)
	require.Contains(t, string(body), "it needs the update of every client")
	require.NoError(t, edge.Stop())
}
