package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// aggregate is our side, in a process of its own: it takes in the updates of a
// folder one by one, writes the mean, and prints its measure.
func aggregate(ctx context.Context, folder, result string) error {
	text, err := os.ReadFile(filepath.Join(folder, "weights"))
	if err != nil {
		return err
	}
	var weights []int64
	if err := json.Unmarshal(text, &weights); err != nil {
		return err
	}
	before, err := processor()
	if err != nil {
		return err
	}
	start := time.Now()
	model, err := mean(ctx, folder, weights)
	if err != nil {
		return err
	}
	m := measure{Seconds: time.Since(start).Seconds()}
	after, err := processor()
	if err != nil {
		return err
	}
	m.CPU = after - before
	file, err := os.Create(result)
	if err != nil {
		return err
	}
	for _, chunk := range model {
		n, err := file.Write(chunk)
		if err != nil {
			return err
		}
		m.Size += int64(n)
	}
	if err := file.Close(); err != nil {
		return err
	}
	if m.Peak, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// mean returns the message of the mean.
func mean(ctx context.Context, folder string, weights []int64) ([][]byte, error) {
	parameters, err := ckks.NewParameters(ckks.Settings{})
	if err != nil {
		return nil, err
	}
	mean, err := ckks.NewStrategy(parameters, strategy.Policy{}, nil)
	if err != nil {
		return nil, err
	}
	aggregation, err := mean.Begin(strategy.Round{Number: 1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = aggregation.Close() }()
	var message []byte
	for client, examples := range weights {
		if message, err = read(message, filepath.Join(folder, fmt.Sprintf("update-%d", client))); err != nil {
			return nil, err
		}
		layer, err := tensor.New(tensor.Uint8, []int{len(message)}, message)
		if err != nil {
			return nil, err
		}
		update := strategy.Update{Client: fmt.Sprint(client), Examples: examples, Model: strategy.Model{layer}}
		if err := aggregation.Add(ctx, update); err != nil {
			return nil, err
		}
	}
	layers, err := aggregation.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return layers[0].Chunks(), nil
}

// read reads a file into memory that is used again, as a server that admits one
// update at a time does.
func read(into []byte, name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if int64(cap(into)) < info.Size() {
		into = make([]byte, info.Size()+info.Size()/100)
	}
	into = into[:info.Size()]
	for at := 0; at < len(into); {
		n, err := file.Read(into[at:])
		if err != nil {
			return nil, err
		}
		at += n
	}
	return into, nil
}

// processor returns the seconds of processor time that this process has taken, which
// Linux counts in hundredths (proc(5), fields 14 and 15).
func processor() (float64, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name may have spaces
	if len(fields) < 13 {
		return 0, errors.New("read /proc/self/stat: it has no times")
	}
	var user, system float64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, fmt.Errorf("read /proc/self/stat: %w", err)
	}
	return (user + system) / 100, nil
}

// peak returns the greatest resident memory of this process so far, as Linux
// counts it.
func peak() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes * 1024, nil
		}
	}
	return 0, fmt.Errorf("read /proc/self/status: it has no VmHWM")
}
