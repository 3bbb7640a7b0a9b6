package flcollect_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// A job with secure aggregation whose clients are all of start_client says at once why it
// waits, and does not train them in clear.
func TestServer_Status_saysWhichClientsCannotMask(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	config := flcollect.JobConfig{Strategy: "FedAvg", Rounds: 1, SecAgg: &secagg.Settings{}}
	require.NoError(t, w.Start(t.Context(), "masked", config))
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10, begin: []float32{0}})
	}
	require.Eventually(t, func() bool {
		status, err := w.Status(t.Context(), "masked")
		require.NoError(t, err)
		return status.Clients == 2
	}, patience, time.Millisecond)
	status, err := w.Status(t.Context(), "masked")
	require.NoError(t, err)
	require.Equal(t, flcollect.Waiting, status.State)
	require.Contains(t, status.Note, "2 of 2 clients take no part in the secure aggregation")
	require.Contains(t, status.Note, "the job waits for 2 more SuperNodes")
	require.Equal(t, []string{"secagg"}, status.Config.Mechanisms())
	require.NoError(t, w.StopJob(t.Context(), "masked"))
	status, err = w.Status(t.Context(), "masked")
	require.NoError(t, err)
	require.NotContains(t, status.Note, "SuperNode")
}

func TestNewHandler_namesTheSettingOfSecureAggregation(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	h := flcollect.NewHandler(w.Server, nil)
	for name, c := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"setting": {map[string]string{"privacy-mechanisms": `{"secagg":{"num_shares":2}}`},
			`"loc":["body","privacy-mechanisms","secagg","num_shares"]`},
		"mechanism": {map[string]string{"privacy-mechanisms": `{"secagg":{},"homomorphic":{}}`},
			`"loc":["body","privacy-mechanisms","secagg"]`},
		"strategy": {map[string]string{"privacy-mechanisms": `{"secagg":{}}`, "strategy": `"FedMedian"`}, `"loc":["body","strategy"]`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(h, http.MethodPost, "/job/config/x", string(body(t, c.changes)))
			require.Equal(t, http.StatusUnprocessableEntity, answer.Code)
			require.Contains(t, answer.Body.String(), c.want)
		})
	}
}

// A program's configuration is checked like that of the REST interface.
func TestServer_Start_refusesSecureAggregationThatIsImpossible(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	config := flcollect.JobConfig{Strategy: "FedAvg", Rounds: 1, StrategyConf: strategy.Conf{"min_fit_clients": 4},
		SecAgg: &secagg.Settings{ReconstructionThreshold: 5}}
	var field *secagg.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "masked", config), &field)
	require.Equal(t, "reconstruction_threshold", field.Field)
}
