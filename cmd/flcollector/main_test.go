package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/internal/version"
)

// process is a run of the program.
type process struct {
	*servertest.Program
	web, grpc  string // addresses, the first with its scheme
	repository string // the line about it
	fleet      string // where SuperNodes connect
}

// start runs the program, on free ports and in a fresh folder unless the
// arguments say otherwise.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	args = append([]string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
		"-park", "1s", "-data", t.TempDir()}, args...)
	p := &process{Program: servertest.Start(t, run, args...)}
	p.web = p.Listening("")
	line := p.Next()
	p.grpc = line[strings.LastIndex(line, "/")+1:]
	require.Regexp(t, "^listening on grpcs?://[0-9.:]+$", line)
	p.repository = p.Next()
	p.fleet = p.Next()
	require.Regexp(t, `^listening on fleet://127\.0\.0\.1:\d+$`, p.fleet)
	p.fleet = strings.TrimPrefix(p.fleet, "listening on fleet://")
	return p
}

// get asks for a URL, or for a path of the web interface.
func (p *process) get(t *testing.T, path string) string {
	t.Helper()
	if strings.HasPrefix(path, "/") {
		path = p.web + path
	}
	answer, err := http.Get(path)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, path+": "+string(body))
	return string(body)
}

// status is the answer about a job.
type status struct {
	Status string `json:"status"`
	Round  int    `json:"round"`
}

func (p *process) status(t *testing.T, job string) status {
	t.Helper()
	var s status
	require.NoError(t, json.Unmarshal([]byte(p.get(t, "/job/status/"+job)), &s))
	return s
}

// configure starts a job.
func (p *process) configure(t *testing.T, job, config string) {
	t.Helper()
	answer, err := http.Post(p.web+"/job/config/"+job, "application/json", strings.NewReader(config))
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, "200", string(body))
}

func TestRun_servesCollectorAndRepositoryAtOneAddress(t *testing.T) {
	p := start(t)
	require.Equal(t, "repository listening on "+p.web, p.repository)
	require.Contains(t, p.get(t, "/docs"), "Training collector")
	require.Contains(t, p.get(t, "/repository/docs"), "FL repository")
	require.Contains(t, p.get(t, "/repository/"), "FL repository")
	require.Contains(t, p.get(t, "/openapi.json"), "/job/config/{id}")
	require.Contains(t, p.get(t, "/repository/openapi.json"), "/training-results")
	require.JSONEq(t, `{"name": "flcollector", "version": "`+version.String()+`"}`, p.get(t, "/version"))
	require.JSONEq(t, `{"name": "flrepository", "version": "`+version.String()+`"}`, p.get(t, "/repository/version"))
	for _, prefix := range []string{"", "/repository"} {
		for _, path := range []string{"/model", "/training-results", "/strategy", "/transformation"} {
			require.Equal(t, "[]", strings.TrimSpace(p.get(t, prefix+path)), prefix+path)
		}
	}
	require.Equal(t, status{"INACTIVE", 0}, p.status(t, "7"))
	require.NoError(t, p.Stop())
}

func TestRun_storesTheResultOfTheDemonstration(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "-data", dir, "-demo", "-demo-pause", "0s")
	require.Regexp(t, "at "+p.web+"/live/demo-1$", p.Await("job demo-1: "))
	require.Regexp(t, `^round  1 of 20   loss 0\.\d{4}   accuracy 0\.\d{3}   clients 3   \d+\.\d{3} s$`, p.Await("round"))
	for n := 2; n <= 20; n++ {
		require.Contains(t, p.Next(), " of 20   loss 0.")
	}
	require.Regexp(t, `^training finished: 20 rounds, loss 0\.0\d{3}, accuracy 0\.98\d$`, p.Next())
	_, url, found := strings.Cut(p.Next(), "result in the repository: ")
	require.True(t, found)
	var results []struct {
		TrainingID string         `json:"training_id"`
		Results    map[string]any `json:"results"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.get(t, url)), &results))
	require.Len(t, results, 1)
	require.Equal(t, "demo-1", results[0].TrainingID)
	require.Equal(t, "20", results[0].Results["rounds"])
	require.NotEmpty(t, p.get(t, "/training-results/weights/tumours/1.0/demo-1"))
	require.Contains(t, p.get(t, "/live/demo-1"), "demo-1")
	require.Equal(t, status{"FINISHED", 20}, p.status(t, "demo-1"))
	require.NoError(t, p.Stop())

	require.Empty(t, p.Log.String(), "the lines are log enough")

	p = start(t, "-data", dir, "-demo", "-demo-pause", "0s", "-log-level", "info")
	p.Await("job demo-2: ")
	p.Await("training finished: 20 rounds")
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "level=INFO")
}

func TestRun_notifiesAnotherRepositoryAndTheOrchestrator(t *testing.T) {
	other := start(t)
	var rounds sync.Map
	orchestrator := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rounds.Store(r.Method+" "+r.URL.Path+" "+string(body), true)
	}))
	defer orchestrator.Close()
	t.Setenv("REPOSITORY_ADDRESS", other.web+"/repository/")
	t.Setenv("ORCHESTRATOR_ADDRESS", orchestrator.URL)
	p := start(t, "-demo", "-demo-pause", "0s")
	require.Equal(t, "repository at "+other.web+"/repository", p.repository)
	_, url, _ := strings.Cut(p.Await("result in the repository: "), "repository: ")
	require.Equal(t, other.web+"/repository/training-results/tumours/1.0", url)
	require.Contains(t, p.get(t, url), `"demo-1"`)
	weights := other.web + "/training-results/weights/tumours/1.0/demo-1"
	require.NotEmpty(t, p.get(t, weights))
	answer, err := http.Get(weights + "?format=npz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNotFound, answer.StatusCode, "the weights went twice")
	answer, err = http.Get(p.web + "/training-results")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNotFound, answer.StatusCode, "no repository inside")
	require.Eventually(t, func() bool {
		_, notified := rounds.Load(`POST /FL_traininground {"model_name":"tumours","model_version":"1.0","round":20}`)
		return notified
	}, wait, tick)
	require.NoError(t, p.Stop())
	require.NoError(t, other.Stop())
}

func TestRun_refusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	start(t, "-data", dir)
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
		"-data", dir}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-data: ")
	require.ErrorContains(t, err, "in use by another store")
}

func TestRun_namesTheFlagOfATakenPort(t *testing.T) {
	p := start(t)
	for _, flag := range []string{"-listen", "-grpc-listen", "-fleet"} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-data",
			t.TempDir(), flag, p.grpc}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "the port is taken")
		require.ErrorContains(t, err, "with "+flag+" ")
	}
}

func TestRun_stopsDespiteStreamsOfEvents(t *testing.T) {
	p := start(t)
	p.configure(t, "1", configuration)
	answer, err := http.Get(p.web + "/job/events/1")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err, line)
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "cut off")
}

func TestRun_refusesPagesOfOtherOrigins(t *testing.T) {
	p := start(t, "-hosts", "training.example.org")
	for _, at := range []string{p.web, p.web + "/repository"} {
		httpapitest.CheckServer(t, at, "/healthz", "training.example.org")
	}
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "flcollector", run) }

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	servertest.CheckUsage(t, run, []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-fleet", "127.0.0.1:0", "-data", t.TempDir()}, []string{"-fleet-keys", "main_test.go"})
}
