package ha_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

const (
	trainings = 2 // jobs at a time
	clients   = 3 // of each
)

// collectors are two on one database and one bucket, with jobs that are trained through one address.
type collectors struct {
	fleet
	jobs        *load.Jobs
	folders     []string
	web, grpc   *load.Balancer
	http        *http.Client
	conducting  load.Gaps // until the next round of a job that the victim conducted
	others      load.Gaps // and of one that it did not
	mu          sync.Mutex
	submitted   map[string]int // 1 for each job that a collector has confirmed
	inProgress  map[string]bool
	submissions int
}

func newCollectors(p *platform) *collectors {
	place := p.place()
	c := &collectors{
		fleet: fleet{
			platform: p, program: interop.Build(p.t, "flcollector"), servers: make([]*interop.Server, 2),
			arguments: append(p.arguments(place), "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
				"-lease", "3s"),
		},
		folders: []string{p.t.TempDir(), p.t.TempDir()}, web: load.NewBalancer(p.t, 2), grpc: load.NewBalancer(p.t, 2),
		http:      &http.Client{Timeout: load.Patience, Transport: &http.Transport{DisableKeepAlives: true}},
		submitted: map[string]int{}, inProgress: map[string]bool{},
	}
	c.jobs = load.OpenJobs(p.t, p.store.URI, place.database, p.bucket, place.bucket)
	c.own = func(at int) []string { return []string{"-data", c.folders[at]} }
	c.ready = func(at int, server *interop.Server) {
		c.web.Set(at, strings.TrimPrefix(server.URL, "http://"))
		address, _, _ := strings.Cut(server.AwaitLine("listening on grpc://"), " ")
		c.grpc.Set(at, address)
	}
	for at := range c.servers {
		c.start(at)
	}
	return c
}

func (c *collectors) work(ctx context.Context) {
	for range trainings {
		c.platform.work.Go(func() {
			for ctx.Err() == nil {
				if err := c.train(c.platform.t.Context()); err != nil {
					c.platform.t.Error(err)
					return
				}
			}
		})
	}
}

// train submits a job, and runs its clients until it has ended.
func (c *collectors) train(ctx context.Context) error {
	c.mu.Lock()
	id := fmt.Sprint("job-", c.submissions)
	c.submissions++
	c.mu.Unlock()
	if err := c.submit(ctx, id); err != nil {
		return err
	}
	c.mu.Lock()
	c.submitted[id], c.inProgress[id] = 1, true
	c.mu.Unlock()
	client, err := flower.NewClient(flower.ClientConfig{
		Target: c.grpc.Address(), Trainer: load.Trainer{Pause: 500 * time.Millisecond, Job: id}, Patience: load.Patience,
	})
	if err != nil {
		return err
	}
	training, ended := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer func() {
		ended()
		group.Wait()
	}()
	faults := make(chan error, clients)
	for range clients {
		group.Go(func() {
			for training.Err() == nil {
				if err := client.Run(training); err != nil && training.Err() == nil {
					faults <- fmt.Errorf("a client of %s has ended: %w", id, err)
					return
				}
			}
		})
	}
	late := time.After(5 * load.Patience)
	for {
		select {
		case <-time.After(100 * time.Millisecond):
		case err := <-faults:
			return err
		case <-ctx.Done():
			return nil
		case <-late:
			return fmt.Errorf("%s has not ended within %v", id, 5*load.Patience)
		}
		job, err := c.jobs.Find(id)
		if err != nil {
			return fmt.Errorf("%s is lost: %w", id, err)
		}
		if job.State.Ended() {
			c.mu.Lock()
			delete(c.inProgress, id)
			c.mu.Unlock()
			return nil
		}
	}
}

// submit submits a job until a collector has confirmed it.
func (c *collectors) submit(ctx context.Context, id string) error {
	late := time.After(load.Patience)
	for {
		answer, err := c.http.Post("http://"+c.web.Address()+"/job/config/"+id, "application/json",
			strings.NewReader(load.JobConfiguration))
		if err == nil {
			var text []byte
			text, err = io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && answer.StatusCode == http.StatusOK {
				return nil
			}
			c.platform.t.Logf("submit %s: %d %s", id, answer.StatusCode, text)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil
		case <-late:
			return fmt.Errorf("submit %s: not within %v: %w", id, load.Patience, err)
		}
		if job, err := c.jobs.Find(id); err == nil && job.State.Ended() {
			return nil // clients of others have trained it meanwhile
		} else if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
}

// progress is the last round of each job that is trained.
func (c *collectors) progress() map[string]int {
	c.mu.Lock()
	ids := maps.Clone(c.inProgress)
	c.mu.Unlock()
	rounds := map[string]int{}
	for id := range ids {
		if job := c.jobs.Get(id); !job.State.Ended() {
			rounds[id] = job.Round
		}
	}
	return rounds
}

func (c *collectors) strike(random *rand.Rand) {
	t := c.platform.t
	var before map[string]int
	conductor := map[string]int{}
	await(t, "a job is trained", func() bool {
		before = c.progress()
		return len(before) > 0
	})
	for id := range before {
		conductor[id] = c.jobs.Conductor(id, c.folders)
	}
	victim := random.IntN(len(c.servers))
	c.servers[victim].Kill()
	began := time.Now()
	for id := range before {
		before[id] = c.jobs.Get(id).Round
	}
	await(t, "the next rounds", func() bool {
		for id, last := range before {
			job := c.jobs.Get(id)
			switch {
			case job.State.Ended(): // or is at its end, whatever was killed
			case job.Round == last:
				continue
			case victim == conductor[id]:
				c.conducting = append(c.conducting, time.Since(began))
			default:
				c.others = append(c.others, time.Since(began))
			}
			delete(before, id)
		}
		return len(before) == 0
	})
	c.web.Set(victim, "")
	c.grpc.Set(victim, "")
	c.start(victim)
}

func (c *collectors) check() {
	t := c.platform.t
	await(t, "one result of each job", func() bool {
		found, err := load.Results(c.http, "http://"+c.web.Address())
		return err == nil && maps.Equal(found, c.submitted)
	})
	for _, server := range c.servers {
		server.Kill()
	}
	for id := range c.submitted {
		c.jobs.Check(id)
	}
	t.Logf("collectors: %d jobs of %d rounds, none lost or doubled", len(c.submitted), load.Rounds)
	t.Logf("collectors: next round after a kill of the conductor: %v; of the other one: %v", c.conducting, c.others)
}
