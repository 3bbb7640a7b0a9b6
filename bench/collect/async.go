package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage/disk"
)

// The training of the section: eight clients, of which one is slower.
const (
	asyncClients = 8
	asyncSlower  = 10                     // times
	asyncFit     = 100 * time.Millisecond // of a fast client
	asyncTarget  = 0.1                    // loss over the tumours that no client has
	asyncPeriod  = 3 * time.Minute        // that a training may take
)

// manner is a way to train.
type manner struct {
	name  string
	async *jobconfig.Async // nil trains in rounds
}

func manners() []manner {
	half := jobconfig.DefaultStaleness
	return []manner{
		{"rounds with all 8", nil},
		{"FedBuff, buffer 4", &jobconfig.Async{Buffer: 4, Concurrency: asyncClients, Staleness: &half}},
		{"FedBuff, buffer 7", &jobconfig.Async{Buffer: 7, Concurrency: asyncClients, Staleness: &half}},
	}
}

// asyncTrial is a training up to the target.
type asyncTrial struct {
	Manner   string  `json:"manner"`
	Load     float64 `json:"load"`     // of the machine, before
	Seconds  float64 `json:"seconds"`  // from the first instruction to the first with a model that meets the target
	Versions int     `json:"versions"` // or rounds, in that time
	Updates  int     `json:"updates"`  // in these
	Stale    float64 `json:"staleness"`
}

func (t asyncTrial) perMinute() float64 { return float64(t.Versions) / t.Seconds * 60 }

// measureAsync measures asynchronous jobs beside rounds, and writes ASYNC.md. Server and
// clients share a process and talk over loopback.
func measureAsync(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench/collect async", flag.ContinueOnError)
	trials := flags.Int("trials", 3, "how often each manner trains, in turns")
	calm := flags.Duration("calm", 0, "how long a trial waits, at most, for the machine to have nothing else to do")
	out := flags.String("out", filepath.Join("bench", "collect"), "`folder` that ASYNC.md is written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := tumours.All()
	if err != nil {
		return err
	}
	r := newAsyncRecord(ctx)
	for range *trials {
		for _, m := range manners() {
			rig.AwaitCalm(ctx, *calm)
			t, err := trainOnce(ctx, m, all)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			r.Trials = append(r.Trials, t)
		}
	}
	return r.write(*out)
}

// trainOnce trains until a client is sent a model that meets the target.
func trainOnce(ctx context.Context, m manner, all []tumours.Tumour) (t asyncTrial, err error) {
	folder, err := os.MkdirTemp("", "bench-async-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	store, err := disk.Open(ctx, folder, nil)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	server, err := flcollect.NewServer(flcollect.Config{Documents: store.Documents(), Blobs: store.Blobs(), Dir: folder})
	if err != nil {
		return t, err
	}
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	if err != nil {
		return t, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return t, err
	}
	ctx, stop := context.WithTimeout(ctx, asyncPeriod)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = flowers.Serve(ctx, listener) })
	group.Go(func() { _ = server.Run(ctx) })
	w := newWatch(all)
	for i := range asyncClients {
		client, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: w.trainer(i)})
		if err != nil {
			return t, err
		}
		group.Go(func() { _ = client.Run(ctx) })
	}
	t = asyncTrial{Manner: m.name, Load: rig.LoadAverage()}
	err = server.Start(ctx, "bench", jobconfig.Config{
		Strategy: "FedAvg", ModelName: "tumours", ModelVersion: "1", Rounds: jobconfig.MaxRounds, ConfigurationID: "1", Async: m.async,
		StrategyConf: strategy.Conf{"min_fit_clients": asyncClients, "min_available_clients": asyncClients, "fraction_evaluate": 0},
	})
	if err != nil {
		return t, err
	}
	select {
	case <-w.met:
	case <-ctx.Done():
		return t, fmt.Errorf("the target was not met in %v", asyncPeriod)
	}
	t.Seconds = w.took.Seconds()
	rounds, err := server.Rounds(ctx, "bench", 0, 0)
	for _, round := range rounds {
		t.Versions++
		t.Updates += round.Fit.Results
		if round.Async != nil {
			t.Stale += round.Async.MeanStaleness * float64(round.Fit.Results)
		}
	}
	t.Stale /= float64(max(t.Updates, 1))
	return t, errors.Join(err, server.StopJob(ctx, "bench"))
}

// watch waits for a model that meets the target.
type watch struct {
	parts [asyncClients][]tumours.Tumour // by client
	test  []tumours.Tumour               // every fourth, which no client has

	mu    sync.Mutex
	began time.Time
	took  time.Duration
	met   chan struct{}
}

func newWatch(all []tumours.Tumour) *watch {
	w := &watch{met: make(chan struct{})}
	for i, t := range all {
		if i%4 == 3 {
			w.test = append(w.test, t)
			continue
		}
		part := i / 4 % asyncClients
		w.parts[part] = append(w.parts[part], t)
	}
	return w
}

// see looks at a model that a client was sent.
func (w *watch) see(model tumours.Regression) {
	loss, _ := model.Measure(w.test)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	if loss <= asyncTarget && w.took == 0 {
		w.took = time.Since(w.began)
		close(w.met)
	}
}

// trainer returns the trainer of a client. The first one is the slow one.
func (w *watch) trainer(i int) flower.Trainer {
	takes := asyncFit
	if i == 0 {
		takes *= asyncSlower
	}
	party := tumours.Party{Name: fmt.Sprintf("device-%d", i), Train: w.parts[i], Test: w.parts[i]}
	return &pacedTrainer{Trainer: tumours.NewTrainer(party), watch: w, takes: takes}
}

// pacedTrainer is a trainer whose fit takes a given time.
type pacedTrainer struct {
	*tumours.Trainer
	watch *watch
	takes time.Duration
}

// Fit implements flower.Trainer.
func (p *pacedTrainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	timer := time.NewTimer(p.takes)
	defer timer.Stop()
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	sent, err := tumours.Decode(model)
	if err != nil {
		return nil, err
	}
	p.watch.see(sent)
	res, err := p.Trainer.Fit(ctx, ins)
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return res, err
}
