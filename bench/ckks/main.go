// Command ckks compares the aggregation of encrypted updates with that of TenSEAL in
// Python. See the README beside it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/peertest"
)

// bound is how far our mean may be from that of the plain models.
const bound = 1e-6

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ckks:", err)
		os.Exit(1)
	}
}

// measure is what an aggregator says of itself.
type measure struct {
	// Seconds is how long it took from the first update to the whole result.
	Seconds float64 `json:"seconds"`
	// Peak is the greatest resident memory of its process, in bytes.
	Peak int64 `json:"peak"`
	// Size is the bytes of the result.
	Size int64 `json:"size"`
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 3, "how often each side aggregates")
	clients := flag.Int("clients", 8, "how many clients there are")
	ciphertexts := flag.Int("ciphertexts", 245, "ciphertexts of an update, of 4096 parameters each")
	folder := flag.String("aggregate", "", "aggregate the updates of a folder into the file named after the flags, and exit")
	flag.Parse()
	if *folder != "" {
		return aggregate(ctx, *folder, flag.Arg(0))
	}
	python, err := peertest.PythonProgram("tenseal==0.3.18", "numpy==2.2.6")
	if err != nil {
		return fmt.Errorf("%w; %s=1 installs it", err, peertest.RequirePeers)
	}
	ours, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ckks-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	peer := filepath.Join("bench", "ckks", "python", "peer.py")
	if _, err := output(ctx, python, peer, "encrypt", dir, fmt.Sprint(*clients), fmt.Sprint(*ciphertexts)); err != nil {
		return err
	}
	result := filepath.Join(dir, "result")
	sides := []struct {
		name    string
		command []string
		all     []measure
		worst   float64
	}{
		{name: "flcollect/ckks", command: []string{ours, "-aggregate", dir, result}},
		{name: "TenSEAL, all updates at once", command: []string{python, peer, "collect", dir, result}},
		{name: "TenSEAL, one by one", command: []string{python, peer, "fold", dir, result}},
	}
	for range *rounds {
		for k := range sides {
			side := &sides[k]
			text, err := output(ctx, side.command...)
			if err != nil {
				return err
			}
			var m measure
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			side.all = append(side.all, m)
			text, err = output(ctx, python, peer, "check", dir, result)
			if err != nil {
				return err
			}
			var distance float64
			if _, err := fmt.Sscan(text, &distance); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			side.worst = max(side.worst, distance)
		}
	}
	fmt.Printf("%d clients, %d parameters in %d ciphertexts each\n\n", *clients, *ciphertexts*4096, *ciphertexts)
	fmt.Println("| | seconds, median | every round | peak memory, MB | result, MB | greatest error |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, side := range sides {
		var seconds, peaks []float64
		for _, m := range side.all {
			seconds, peaks = append(seconds, m.Seconds), append(peaks, float64(m.Peak)/1e6)
		}
		fmt.Printf("| %s | %.3f | %.3f | %.0f | %.1f | %.2g |\n", side.name, median(seconds), seconds, median(peaks), float64(side.all[0].Size)/1e6, side.worst)
	}
	if sides[0].worst >= bound {
		return fmt.Errorf("our error is not below %g", bound)
	}
	return nil
}

// output runs a command and returns what it prints.
func output(ctx context.Context, command ...string) (string, error) {
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Stderr = os.Stderr
	text, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
