package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// training is what is trained.
type training struct {
	Clients int    `json:"clients"`
	In      string `json:"in"`    // the language of the clients
	Bytes   int64  `json:"bytes"` // of the model
	Rounds  int    `json:"rounds"`
}

// The languages of clients. Those in Python are real ones of Flower; those in Go
// leave more of the machine to the server.
const (
	inPython = "Python"
	inGo     = "Go"
)

// layers is how many layers a model has.
const layers = 10

// most bounds a trial.
const most = 10 * time.Minute

// roundsTrial is one training.
type roundsTrial struct {
	Contender string  `json:"contender"`
	Trial     int     `json:"trial"`
	Load      float64 `json:"load"`
	training
	Seconds []float64 `json:"seconds"` // of the rounds, but for the last
	CPU     float64   `json:"cpuSeconds"`
	Peak    int64     `json:"peak"` // bytes
	// ClientsCPU is what all clients took, in seconds.
	ClientsCPU float64 `json:"clientsCpuSeconds,omitempty"`
}

// perMinute is the number of rounds per minute.
func (t *roundsTrial) perMinute() float64 {
	sum := 0.0
	for _, s := range t.Seconds {
		sum += s
	}
	return 60 * float64(len(t.Seconds)) / sum
}

// rounds measures trainings with real clients, the contenders in turns.
func (b *bench) rounds(ctx context.Context) error {
	for k, size := range b.sizes {
		for trial := range b.trials {
			for i := range b.contenders {
				c := b.contenders[(i+trial)%len(b.contenders)]
				folder := filepath.Join(b.folder, fmt.Sprintf("rounds-%d-%d-%s", k, trial, c.name))
				rig.AwaitCalm(ctx, b.calm)
				t, err := b.roundsTrial(ctx, c, folder, size)
				if err != nil {
					return fmt.Errorf("%s, %d clients, trial %d: %w", c.name, size.Clients, trial, err)
				}
				t.Trial = trial
				b.record.Rounds = append(b.record.Rounds, t)
			}
		}
	}
	return nil
}

func (b *bench) roundsTrial(ctx context.Context, c contender, folder string, size training) (*roundsTrial, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	t := &roundsTrial{Contender: c.name, Load: rig.LoadAverage(), training: size}
	s, err := c.start(ctx, folder, size.Rounds, size.Clients)
	if err != nil {
		return nil, err
	}
	defer s.proc().End()
	before := s.proc().CPU()
	begin := b.pythonClients
	if size.In == inGo {
		begin = b.goClients
	}
	clients, err := begin(ctx, folder, s.target(), size, c.still)
	for _, client := range clients {
		defer client.End()
	}
	if err != nil {
		return nil, err
	}
	if err := s.finished(ctx); err != nil {
		return nil, errors.Join(err, complaints(clients))
	}
	t.CPU = (s.proc().CPU() - before).Seconds()
	if t.Peak, err = peak(s.proc()); err != nil {
		return nil, err
	}
	if size.In == inGo {
		t.Seconds, err = tallied(clients, size)
		return t, err
	}
	var starts [][]float64
	for _, client := range clients {
		times, cpu, err := fits(client, size.Rounds)
		if err != nil {
			return nil, err
		}
		starts = append(starts, times)
		t.ClientsCPU += cpu
	}
	t.Seconds = lengths(starts)
	return t, nil
}

// peak returns the most memory that a program has had, which has to be known.
func peak(p *rig.Process) (int64, error) {
	most := p.Peak()
	if most == 0 {
		return 0, p.Failure(errors.New("the system does not say how much memory it had"))
	}
	return most, nil
}

// pythonClients starts the clients, each as a process. Still is as in contender.
func (b *bench) pythonClients(ctx context.Context, folder, target string, size training, still bool) (clients []*rig.Process,
	err error) {
	expected := "mean"
	if still {
		expected = "still"
	}
	for k := range size.Clients {
		client, err := rig.Start(ctx, folder, nil, b.python, filepath.Join(b.scripts, "client.py"), target,
			fmt.Sprint(k+1), fmt.Sprint(size.Clients), fmt.Sprint(size.Bytes), fmt.Sprint(layers), expected)
		if err != nil {
			return clients, err
		}
		clients = append(clients, client)
	}
	return clients, nil
}

// goClients starts the clients in one process. Still is as in contender.
func (b *bench) goClients(ctx context.Context, folder, target string, size training, still bool) ([]*rig.Process, error) {
	p, err := startLoad(ctx, folder, target, size.Clients, size.Bytes, still)
	if err != nil {
		return nil, err
	}
	return []*rig.Process{p}, nil
}

// tallied ends the loads and returns the lengths of the rounds they have seen.
func tallied(loads []*rig.Process, size training) ([]float64, error) {
	var seen tally
	for _, p := range loads {
		one, err := readTally(p)
		if err != nil {
			return nil, err
		}
		seen.add(one)
	}
	return seen.lengths(size.Rounds, size.Clients)
}

// complaints are of the clients that have ended.
func complaints(clients []*rig.Process) (all error) {
	for _, client := range clients {
		client.Kill()
		if _, err := client.Rest(); err != nil {
			all = errors.Join(all, err)
		}
	}
	return all
}

// fits waits for the end of a client and returns when it was instructed to fit, and the
// processor time it took, in seconds.
func fits(p *rig.Process, rounds int) (times []float64, cpu float64, err error) {
	lines, err := p.Rest()
	if err != nil {
		return nil, 0, err
	}
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, "fit ")
		if !ok {
			continue
		}
		at, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, 0, err
		}
		times = append(times, at)
	}
	var fits, evaluations int
	last := strings.Join(lines[max(0, len(lines)-1):], "")
	if _, err := fmt.Sscanf(last, "end %d %d %g", &fits, &evaluations, &cpu); err != nil || len(times) != rounds ||
		fits != rounds || evaluations != rounds {
		return nil, 0, fmt.Errorf("a client said %q after %d rounds", last, rounds)
	}
	return times, cpu, nil
}

// lengths are those of the rounds: a round begins when its first client is instructed
// to fit. How long the last takes is not seen from clients.
func lengths(fits [][]float64) []float64 {
	var begins, all []float64
	for round := range fits[0] {
		begin := fits[0][round]
		for _, times := range fits {
			begin = min(begin, times[round])
		}
		begins = append(begins, begin)
	}
	for k := range begins[1:] {
		all = append(all, begins[k+1]-begins[k])
	}
	return all
}
