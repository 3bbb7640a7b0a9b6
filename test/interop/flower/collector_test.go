package flower_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// patience bounds each wait of these tests. It is generous: the tests are about
// what happens, not about when.
const patience = 10 * time.Minute

// retry is the pause before something is looked at again.
const retry = 10 * time.Millisecond

// program is the path of the collector, which is built once for all tests.
var program = sync.OnceValues(func() (string, error) { return interop.BuildIn(workshop, "flcollector") })

// workshop is a folder that is there while the tests run.
var workshop string

// started is whether a test has started one of the clients that Flower has.
var started struct {
	clients atomic.Bool // of start_client
	nodes   atomic.Bool // SuperNodes
}

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "flower")
	if err != nil {
		panic(err)
	}
	workshop = folder
	code := m.Run()
	endNurseries()
	_ = os.RemoveAll(folder)
	if code == 0 && peertest.Required() && whole() && !(started.clients.Load() && started.nodes.Load()) {
		fmt.Println("FAIL: no test has started a client of start_client, or none a SuperNode")
		code = 1
	}
	os.Exit(code)
}

// whole reports whether all tests run, or all of the quick selection.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// collector is a process of the training collector, with its own repository.
type collector struct {
	*interop.Process
	t testing.TB
	// url is the address of the REST interface, clients that for Flower clients.
	url, clients string
}

// setup is how a collector is started. The zero value is a new one that has no
// neighbours.
type setup struct {
	data         string // folder; a new one if empty
	repository   string // URL
	orchestrator string // URL
	arguments    []string
}

func startCollector(t testing.TB, with setup) *collector {
	t.Helper()
	if peertest.Excluded() {
		t.Skip(peertest.ErrExcluded)
	}
	path, err := program()
	require.NoError(t, err)
	if with.data == "" {
		with.data = t.TempDir()
	}
	command := exec.Command(path, "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-data", with.data)
	command.Args = append(command.Args, with.arguments...)
	command.Dir = t.TempDir()
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "FLCOLLECTOR_") || slices.Contains([]string{"HOST", "PORT", "FEDERATED_PORT"}, name)
	})
	command.Env = append(command.Env, "REPOSITORY_ADDRESS="+with.repository, "ORCHESTRATOR_ADDRESS="+with.orchestrator)
	c := &collector{Process: interop.StartProcess(t, command), t: t}
	c.url = "http://" + firstWord(c.AwaitLine("listening on http://"))
	_, c.clients, _ = strings.Cut(firstWord(c.AwaitLine("listening on grpc")), "://") // or grpcs
	return c
}

func firstWord(line string) string {
	word, _, _ := strings.Cut(line, " ")
	return word
}

// state is the state of a job in the REST interface.
type state struct {
	Status  string   `json:"status"`
	Round   int      `json:"round"`
	Clients int      `json:"clients"`
	Error   string   `json:"error"`
	Stored  bool     `json:"stored"`
	Loss    *float64 `json:"loss"`
}

// round is a finished round there.
type round struct {
	Number     int    `json:"round"`
	Aggregated bool   `json:"aggregated"`
	Note       string `json:"note"`
	Fit        phase  `json:"fit"`
	Evaluate   phase  `json:"evaluate"`
}

type phase struct{ Clients, Results, Failures int }

// stored is the record of a result in the repository.
type stored struct {
	ModelName       string            `json:"model_name"`
	ModelVersion    string            `json:"model_version"`
	TrainingID      string            `json:"training_id"`
	ConfigurationID string            `json:"configuration_id"`
	WeightsID       string            `json:"weights_id"`
	Results         map[string]string `json:"results"`
}

// ask sends a request and returns the answer.
func ask(method, address string, body io.Reader, contentType string) (code int, answer []byte, err error) {
	request, err := http.NewRequest(method, address, body)
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// get returns what is at a path, which must be there.
func (c *collector) get(path string) []byte {
	c.t.Helper()
	code, answer, err := ask(http.MethodGet, c.url+path, nil, "")
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, code, "GET %s: %s", path, answer)
	return answer
}

func (c *collector) read(path string, into any) {
	c.t.Helper()
	answer := c.get(path)
	require.NoError(c.t, json.Unmarshal(answer, into), "GET %s: %s", path, answer)
}

// start starts a job, as the orchestrator does it.
func (c *collector) start(id string, config map[string]any) {
	c.t.Helper()
	body, err := json.Marshal(config)
	require.NoError(c.t, err)
	code, answer, err := ask(http.MethodPost, c.url+"/job/config/"+url.PathEscape(id), bytes.NewReader(body),
		"application/json")
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, code, string(answer))
	require.Equal(c.t, "200", string(answer))
}

func (c *collector) status(id string) (s state) {
	c.t.Helper()
	c.read("/job/status/"+url.PathEscape(id), &s)
	return s
}

// await waits until the status of a job is as wanted.
func (c *collector) await(id, what string, wanted func(state) bool) state {
	c.t.Helper()
	for over, again := time.After(patience), time.Tick(retry); ; {
		last := c.status(id)
		if wanted(last) {
			return last
		}
		select {
		case <-again:
		case <-over:
			require.FailNowf(c.t, "a job is not as awaited", "job %q: %s; it is %+v", id, what, last)
		}
	}
}

// awaitResult waits until a job has ended and its result is stored.
func (c *collector) awaitResult(id string) state {
	c.t.Helper()
	s := c.await(id, "finished and stored", func(s state) bool {
		return (s.Status == "FINISHED" && s.Stored) || s.Status == "INTERRUPTED"
	})
	require.Equal(c.t, "FINISHED", s.Status, s.Error)
	return s
}

func (c *collector) rounds(id string) []round {
	c.t.Helper()
	var page struct{ Rounds []round }
	c.read("/job/rounds/"+url.PathEscape(id)+"?limit=1000", &page)
	return page.Rounds
}

// results are those of a model in the repository.
func (c *collector) results(model, version string) (all []stored) {
	c.t.Helper()
	c.read("/training-results/"+url.PathEscape(model)+"/"+url.PathEscape(version), &all)
	return all
}

// weights are the pickle of a result in the repository.
func (c *collector) weights(model, version, id string) []byte {
	c.t.Helper()
	text := c.get("/training-results/weights/" + url.PathEscape(model) + "/" + url.PathEscape(version) + "/" +
		url.PathEscape(id))
	pickle, err := base64.StdEncoding.DecodeString(string(text))
	require.NoError(c.t, err)
	return pickle
}

// putModel stores the parameters of a model in the repository.
func (c *collector) putModel(model, version string, npz []byte) {
	c.t.Helper()
	body := fmt.Sprintf(`{"model_name":%q,"model_version":%q,"meta":{"library":"numpy","description":"of a test"}}`,
		model, version)
	code, answer, err := ask(http.MethodPost, c.url+"/model", strings.NewReader(body), "application/json")
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusCreated, code, string(answer))
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("file", "initial.npz")
	require.NoError(c.t, err)
	_, err = part.Write(npz)
	require.NoError(c.t, err)
	require.NoError(c.t, writer.Close())
	code, answer, err = ask(http.MethodPut, c.url+"/model/"+url.PathEscape(model)+"/"+url.PathEscape(version), &form,
		writer.FormDataContentType())
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusNoContent, code, string(answer))
}

// training is a configuration for so many rounds with so many clients, all of
// which are waited for and take part. What is in conf comes on top of the
// strategy's parameters.
func training(strategy string, rounds, clients int, conf map[string]any) map[string]any {
	parameters := map[string]any{
		"min_available_clients": clients, "min_fit_clients": clients, "min_evaluate_clients": clients,
	}
	for name, value := range conf {
		parameters[name] = value
	}
	return map[string]any{
		"strategy": strategy, "model_name": "adder", "model_version": "1",
		"server_conf":        map[string]any{"num_rounds": rounds},
		"strategy_conf":      parameters,
		"client_conf":        []any{map[string]any{"epochs": 1}},
		"privacy-mechanisms": map[string]any{},
		"configuration_id":   10,
	}
}
