package flower_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// news is a notification for an orchestrator.
type news struct {
	Path         string  `json:"-"`
	ModelName    string  `json:"model_name"`
	ModelVersion string  `json:"model_version"`
	Round        int     `json:"round"`
	Metric       string  `json:"metric"`
	Value        float64 `json:"value_achieved"`
	Target       float64 `json:"value_maximal"`
}

// orchestrator answers as the original does, and records the notifications.
type orchestrator struct {
	*httptest.Server
	told func(news)  // called before the answer
	down atomic.Bool // it does not take anything

	mu  sync.Mutex
	all []news
}

func startOrchestrator(t testing.TB, told func(news)) *orchestrator {
	o := &orchestrator{told: told}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /FL_traininground", o.take)
	mux.HandleFunc("POST /FL_early_end", o.take)
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *orchestrator) take(w http.ResponseWriter, request *http.Request) {
	if o.down.Load() {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	n := news{Path: request.URL.Path}
	if err := json.NewDecoder(request.Body).Decode(&n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if o.told != nil {
		o.told(n)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, n)
	_, _ = w.Write([]byte(`{"data":"Message sended to the UI"}`))
}

func (o *orchestrator) news() []news {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]news(nil), o.all...)
}

// await waits for so many notifications, and returns them.
func (o *orchestrator) await(t testing.TB, count int) []news {
	t.Helper()
	require.Eventually(t, func() bool { return len(o.news()) >= count }, patience, retry,
		"notifications are missing")
	return o.news()
}

func TestCollector_orchestrator_getsEveryRound(t *testing.T) {
	for name, down := range map[string]bool{"while it is there": false, "once it is back": true} {
		t.Run(name, func(t *testing.T) {
			python := install(t, oldest)
			o := startOrchestrator(t, nil)
			o.down.Store(down)
			c := startCollector(t, setup{orchestrator: o.URL})
			c.start("7", training("avg", 3, 2, nil))
			for number := range 2 {
				startClient(t, python, options{Server: c.clients, Number: number})
			}
			c.awaitResult("7") // whether or not it is notified
			o.down.Store(false)
			var want []news
			for number := range 3 {
				want = append(want, news{Path: "/FL_traininground", ModelName: "adder", ModelVersion: "1",
					Round: number + 1})
			}
			require.Equal(t, want, o.await(t, len(want)))
		})
	}
}

func TestCollector_target_endsTheTrainingWhenTheResultIsStored(t *testing.T) {
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			var c *collector
			kept := make(chan string, 1) // what the repository has when the news comes
			o := startOrchestrator(t, func(n news) {
				if n.Path == "/FL_early_end" {
					_, text, err := ask(http.MethodGet, c.url+"/training-results/weights/adder/1/early", nil, "")
					if err != nil {
						text = []byte(err.Error())
					}
					kept <- string(text)
				}
			})
			c = startCollector(t, setup{orchestrator: o.URL})
			config := training("FedAvg", 10, 2, nil)
			config["stopping_flag"] = true
			config["stopping_target"] = map[string]any{"accuracy": 0.5, "unknown": 0}
			c.start("early", config)
			// Both add 2 in each round, and the accuracy is a tenth of the weight.
			one := startClient(t, python, options{Server: c.clients, Number: 1})
			other := startClient(t, python, options{Server: c.clients, Number: 1})
			require.Zero(t, one.AwaitEnd())
			require.Zero(t, other.AwaitEnd())

			require.Equal(t, 3, c.awaitResult("early").Round)
			told := o.await(t, 3)
			require.Len(t, told, 3)
			for i, n := range told[:2] {
				require.Equal(t, news{Path: "/FL_traininground", ModelName: "adder", ModelVersion: "1", Round: i + 1}, n)
			}
			last := told[2]
			require.InDelta(t, 0.6, last.Value, 1e-6)
			last.Value = 0
			require.Equal(t, news{Path: "/FL_early_end", ModelName: "adder", ModelVersion: "1", Round: 3,
				Metric: "accuracy", Target: 0.5}, last)
			require.Equal(t, string(c.get("/training-results/weights/adder/1/early")), <-kept)
			requireAdded(t, load(t, python, c.weights("adder", "1", "early"))[0], 6)
			require.Equal(t, "3", c.results("adder", "1")[0].Results["rounds"])
		})
	}
}
