package training

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The name and version of the model in the repository.
const (
	ModelName    = "tumours"
	ModelVersion = "1.0"
)

const rounds = 20

// Jobs is the part of a flcollect.Server that the demonstration uses.
type Jobs interface {
	// Start starts the training of a job.
	Start(ctx context.Context, id string, config jobconfig.Config) error
	// Status returns what a job has reached.
	Status(ctx context.Context, id string) (flcollect.Status, error)
	// Rounds returns the rounds of a job after the one numbered after.
	Rounds(ctx context.Context, id string, after, limit int) ([]report.Round, error)
	// Changed returns a channel that is closed when the status may have changed.
	Changed(id string) <-chan struct{}
}

// Config is the configuration of the demonstration. Jobs, Target, Site, Repository and
// Output are required.
type Config struct {
	Jobs Jobs
	// Target is where the collector listens for clients, as HOST:PORT.
	Target string
	// TLS and Token are as in flower.ClientConfig.
	TLS   *tls.Config
	Token string
	// Site is the URL of the collector's pages, Repository that of the FL
	// repository.
	Site, Repository string
	// Pause is how long a client waits before it trains in a round, so that one can watch.
	// Zero means that it does not wait.
	Pause time.Duration
	// Again is how long after the end of a training the next one begins, with the jobs
	// demo-1 to demo-5 in turn. Zero means that there is one training.
	Again time.Duration
	// Output gets a line a round, and some before and after.
	Output io.Writer
}

// patience is the longest time between the end of a job and that of its clients.
const patience = 10 * time.Second

// Run trains, writes where the result is, and waits until the context ends. The
// job is demo-1, or has the next number whose job has not ended. A job that was
// interrupted goes on.
func Run(ctx context.Context, config Config) error {
	for turn := 0; ; turn++ {
		if err := trainOnce(ctx, config, turn); err != nil {
			return ended(ctx, err)
		}
		if config.Again == 0 {
			<-ctx.Done()
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(config.Again):
		}
	}
}

// trainOnce trains until the job has ended.
func trainOnce(ctx context.Context, config Config, turn int) error {
	parties, err := tumours.Parties()
	if err != nil {
		return err
	}
	job, err := start(ctx, config, len(parties), turn)
	if err != nil {
		return err
	}
	b := &board{to: config.Output, job: job}
	b.begin(config.Site, parties, rounds*tumours.DefaultEpochs)
	clients, dismiss := context.WithCancel(ctx)
	defer dismiss()
	group, training := errgroup.WithContext(clients)
	left := make(chan error, len(parties))
	for _, p := range parties {
		client, err := newClient(p, job, config)
		if err != nil {
			return err
		}
		group.Go(func() error {
			if err := client.Run(training); err != nil {
				left <- fmt.Errorf("client %q: %w", p.Name, err)
			}
			return nil
		})
	}
	group.Go(func() error {
		err := watch(training, config.Jobs, b, left)
		if b.last.State == report.Finished {
			time.AfterFunc(patience, dismiss) // the server dismisses them earlier
		} else {
			dismiss()
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	b.end(config.Repository)
	return nil
}

// ended returns nil for an error that is the context's own end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// turns is how many jobs there are in turn, if a training follows the other.
const turns = 5

// start finds the job's id and starts it. In turn an ended job begins anew, so that there are
// no more and more of them.
func start(ctx context.Context, asked Config, clients, turn int) (string, error) {
	config := jobconfig.Config{
		Strategy: "avg", ModelName: ModelName, ModelVersion: ModelVersion, ConfigurationID: "1",
		Rounds:       rounds,
		RoundTimeout: time.Minute,
		StrategyConf: strategy.Conf{"min_fit_clients": clients, "min_evaluate_clients": clients, "min_available_clients": clients},
		ClientConf:   []map[string]any{{"epochs": int64(tumours.DefaultEpochs), "learning_rate": tumours.DefaultLearningRate}},
	}
	for n := 1; ; n++ {
		anew := asked.Again > 0 && n > turns
		if anew {
			n = turn%turns + 1
		}
		id := "demo-" + strconv.Itoa(n)
		status, err := asked.Jobs.Status(ctx, id)
		switch {
		case err != nil:
			return "", err
		case status.State == report.Inactive, anew:
			return id, asked.Jobs.Start(ctx, id, config)
		case !status.State.Ended():
			return id, nil
		}
	}
}

// newClient returns a client for the job: by its name, which is the host that
// the client calls, whatever address that has.
func newClient(party tumours.Party, job string, config Config) (*flower.Client, error) {
	_, port, err := net.SplitHostPort(config.Target)
	if err != nil {
		return nil, fmt.Errorf("connect clients of the demonstration: %w", err)
	}
	return flower.NewClient(flower.ClientConfig{
		Target:  net.JoinHostPort(job, port),
		Name:    party.Name,
		Trainer: paced{tumours.NewTrainer(party), config.Pause},
		TLS:     config.TLS,
		Token:   config.Token,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", config.Target)
		},
	})
}

// paced is a trainer that waits before each fit.
type paced struct {
	*tumours.Trainer
	pause time.Duration
}

// Fit implements flower.Trainer.
func (p paced) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	if p.pause > 0 {
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return p.Trainer.Fit(ctx, ins)
}

// watch shows the rounds until the job has ended and its result is stored.
// Clients that are sent away as the job ends are no error, others are.
func watch(ctx context.Context, jobs Jobs, b *board, left <-chan error) error {
	var gone error // of the first client that left
	var limit <-chan time.Time
	for {
		changed := jobs.Changed(b.job)
		status, err := jobs.Status(ctx, b.job)
		if err != nil {
			return err
		}
		rounds, err := jobs.Rounds(ctx, b.job, b.shown, 0)
		if err != nil {
			return err
		}
		for _, r := range rounds {
			b.round(r, status.Config.Rounds)
		}
		b.status(status)
		if status.State == report.Interrupted || status.State == report.Finished && status.Stored {
			return nil
		}
		select {
		case <-changed:
		case err := <-left:
			if gone == nil {
				gone, limit = err, time.After(patience)
			}
		case <-limit:
			if !status.State.Ended() {
				return gone
			}
			limit = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
