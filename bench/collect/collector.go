package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// collector is our server.
type collector struct {
	*rig.Process
	rest, clients string
}

// startCollector starts it with a training that all clients take part in, in
// both phases of every round.
func (b *bench) startCollector(ctx context.Context, folder string, rounds, clients int) (server, error) {
	c, err := b.bareCollector(ctx, folder)
	if err != nil {
		return nil, err
	}
	err = c.configure(ctx, rounds, map[string]any{"min_fit_clients": clients, "min_evaluate_clients": clients,
		"min_available_clients": clients})
	if err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// bareCollector starts it with nothing to do, and with further flags.
func (b *bench) bareCollector(ctx context.Context, folder string, more ...string) (*collector, error) {
	p, err := rig.Start(ctx, folder, nil, b.program, append([]string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-data", filepath.Join(folder, "data")}, more...)...)
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	c := &collector{Process: p}
	if c.rest, err = p.Await(soon, "listening on http://"); err == nil {
		c.clients, err = p.Await(soon, "listening on grpc://")
	}
	if err != nil {
		p.End()
		return nil, err
	}
	return c, nil
}

// configure starts the training.
func (c *collector) configure(ctx context.Context, rounds int, conf map[string]any) error {
	body, err := json.Marshal(map[string]any{
		"strategy": "avg", "model_name": "bench", "model_version": "1", "configuration_id": 1,
		"server_conf": map[string]any{"num_rounds": rounds}, "strategy_conf": conf, "client_conf": []any{},
		"privacy-mechanisms": map[string]any{},
	})
	if err != nil {
		return err
	}
	answer, err := c.ask(ctx, http.MethodPost, "/job/config/bench", body)
	if err == nil && string(answer) != "200" {
		err = fmt.Errorf("configure the training: %.300s", answer)
	}
	return err
}

func (c *collector) proc() *rig.Process { return c.Process }

func (c *collector) target() string { return c.clients }

func (c *collector) finished(ctx context.Context) error {
	return c.poll(ctx, func() (bool, error) {
		answer, err := c.ask(ctx, http.MethodGet, "/job/status/bench", nil)
		if err != nil {
			return false, err
		}
		var job struct{ Status, Error string }
		if err := json.Unmarshal(answer, &job); err != nil {
			return false, err
		}
		if job.Status == "INTERRUPTED" || job.Error != "" {
			return false, fmt.Errorf("the training is %s: %s", job.Status, job.Error)
		}
		return job.Status == "FINISHED", nil
	})
}

// connected waits until so many clients are connected.
func (c *collector) connected(ctx context.Context, clients int) error {
	gauge := regexp.MustCompile(`(?m)^flcollector_clients (\S+)$`)
	return c.poll(ctx, func() (bool, error) {
		answer, err := c.ask(ctx, http.MethodGet, "/metrics", nil)
		if err != nil {
			return false, err
		}
		found := gauge.FindSubmatch(answer)
		if found == nil {
			return false, errors.New("its metrics do not say how many clients are connected")
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		return int(n) >= clients, err
	})
}

// poll repeats a request until the answer is true.
func (c *collector) poll(ctx context.Context, question func() (bool, error)) error {
	for {
		switch yes, err := question(); {
		case err != nil:
			return c.Failure(err)
		case yes:
			return nil
		}
		select {
		case <-ctx.Done():
			return c.Failure(context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask sends a request and returns the body of a good answer.
func (c *collector) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.rest+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	return text, err
}
