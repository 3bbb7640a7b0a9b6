package flcollect_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestServer_Run_trainsAJobThatIsFollowedOverHTTP(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, address := serveWorld(t, w)
	conf := string(jobstest.Body(t, map[string]string{
		"server_conf":   `{"num_rounds":"3"}`,
		"strategy_conf": `{"min_fit_clients":2,"min_available_clients":"2","min_evaluate_clients":2}`,
	}))
	require.Equal(t, "200", jobstest.Ask(h, "POST", "/job/config/a/", conf).Body.String())
	require.Equal(t, "200", jobstest.Ask(h, "POST", "/job/config/a", conf).Body.String(), "the same again")
	other := jobstest.Ask(h, "POST", "/job/config/a", string(jobstest.Body(t, nil)))
	require.Equal(t, http.StatusConflict, other.Code)
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/a", "").Body.String(), `"status":"WAITING"`)

	events, err := http.Get(address + "/job/events/a")
	require.NoError(t, err)
	defer events.Body.Close()
	w.join(t, trainer{step: 1, examples: 1})
	w.join(t, trainer{step: 3, examples: 1})
	text, err := io.ReadAll(events.Body)
	require.NoError(t, err)
	var rounds []string
	for _, round := range regexp.MustCompile(`event: round\nid: (\S+)`).FindAllStringSubmatch(string(text), -1) {
		rounds = append(rounds, round[1])
	}
	require.NotEmpty(t, rounds)
	run, _, _ := strings.Cut(rounds[0], ".")
	require.Equal(t, []string{run + ".1", run + ".2", run + ".3"}, rounds)
	require.Regexp(t, `event: status\nid: `+run+`\.3\.end\n`+
		`data: {"status":"FINISHED","round":3,"id":`+run+`,"job":"a","rounds":3[^\n]+\n\n$`, string(text))

	status := jobstest.Ask(h, "GET", "/job/status/a", "").Body.String()
	require.Contains(t, status, `"loss":6,`)
	require.Contains(t, status, `"metrics":{"accuracy":0.6`)
	require.Contains(t, jobstest.Ask(h, "GET", "/jobs", "").Body.String(), `"status":"FINISHED"`)
	require.Contains(t, jobstest.Ask(h, "GET", "/job/rounds/a?after=2", "").Body.String(), `{"round":3,`)
	model := jobstest.Ask(h, "GET", "/job/result/a", "").Body.Bytes()
	arrays, err := tensor.ReadNPZ(bytes.NewReader(model), int64(len(model)), 1<<20)
	require.NoError(t, err)
	require.Equal(t, []float64{6, 6, 6}, arrays[0].Tensor.Float64s())
	metrics := jobstest.Ask(h, "GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, "flcollector_rounds_total 3\n")
	require.Contains(t, metrics, `flcollector_round_duration_seconds_bucket{le="1000"} 3`+"\n")
	require.Contains(t, metrics, `flcollector_jobs{state="FINISHED"} 1`+"\n")
	require.Contains(t, metrics, `flcollector_jobs_ended_total{state="FINISHED"} 1`+"\n")
	require.Contains(t, metrics, `flcollector_jobs_ended_total{state="INTERRUPTED"} 0`+"\n")
}
