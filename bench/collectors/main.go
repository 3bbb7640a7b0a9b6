// Command collectors measures a collector whose clients are collectors, for 100,000
// simulated clients, and one with its own clients.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func main() { rig.Main("collectors", run) }

// trial is a training: of clients, or of edges that have so many of them each.
type trial struct{ streams, each int }

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "load" {
		return load(ctx, args[1:])
	}
	flags := flag.NewFlagSet("collectors", flag.ContinueOnError)
	parameters := flags.Int("parameters", 50_000, "float32 `numbers` of the model")
	rounds := flags.Int("rounds", 3, "rounds of a trial")
	million := flags.Bool("million", false, "only 100,000, 300,000 and 1,000,000 clients behind 100 edges")
	if err := flags.Parse(args); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "collectors")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := rig.Build(ctx, folder, "flcollector")
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s, load %.1f, %s, commit %s\n`%s`\n\n", time.Now().UTC().Format(time.DateOnly), rig.ThisMachine(ctx),
		rig.LoadAverage(), rig.Printed(ctx, "go", "version"), rig.Commit(ctx, "flcollect", "cmd", "bench/collectors"),
		rig.Command("collectors"))
	fmt.Println("| clients | streams at the top | peak memory of the top | its processor time a round | a round | bytes received a round |")
	fmt.Println("|---|---|---|---|---|---|")
	trials := []trial{{20, 5000}, {100, 1000}, {1000, 0}, {2500, 0}, {5000, 0}}
	if *million {
		trials = []trial{{100, 1000}, {100, 3000}, {100, 10_000}}
	}
	for i, t := range trials {
		if err := t.measure(ctx, filepath.Join(folder, fmt.Sprint(i)), program, *parameters, *rounds); err != nil {
			return fmt.Errorf("%d streams: %w", t.streams, err)
		}
	}
	return nil
}

// measure conducts a trial and prints its line.
func (t trial) measure(ctx context.Context, folder, program string, parameters, rounds int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	top, err := rig.Start(ctx, folder, nil, program, "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-data", filepath.Join(folder, "data"), "-max-connections", "15000", "-log-level", "warn")
	if err != nil {
		return err
	}
	defer top.End()
	rest, err := top.Await(ctx, "listening on ")
	if err != nil {
		return top.Failure(err)
	}
	grpc, err := top.Await(ctx, "listening on grpc://")
	if err != nil {
		return top.Failure(err)
	}
	if err := configure(ctx, rest, rounds, t.streams); err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	many, err := rig.Start(ctx, filepath.Join(folder, "load"), nil, own, "load", "-target", grpc,
		"-streams", fmt.Sprint(t.streams), "-each", fmt.Sprint(t.each), "-parameters", fmt.Sprint(parameters))
	if err != nil {
		return err
	}
	defer many.End()
	var record struct{ Rounds []roundRecord }
	for len(record.Rounds) < rounds {
		if err := get(ctx, rest+"/job/rounds/bench", &record); err != nil {
			return top.Failure(err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return many.Failure(context.Cause(ctx))
		}
	}
	peak, cpu := top.Peak(), top.CPU()
	var seconds []float64
	received := int64(0)
	for _, r := range record.Rounds {
		clients := int64(r.Fit.Results)
		if r.Fit.Below != nil {
			clients = r.Fit.Below.Results
		}
		if clients != int64(t.streams*max(t.each, 1)) {
			return fmt.Errorf("round %d has the results of %d clients", r.Round, clients)
		}
		seconds = append(seconds, r.Fit.Seconds+r.Evaluate.Seconds)
		received = r.Fit.Received
	}
	fmt.Printf("| %s | %s | %.0f MB | %.2f s | %s s | %.1f MB |\n", rig.Thousands(t.streams*max(t.each, 1)), rig.Thousands(t.streams),
		float64(peak)/1e6, cpu.Seconds()/float64(rounds), rig.Spread(seconds), float64(received)/1e6)
	return nil
}

// roundRecord is what is read of a round.
type roundRecord struct {
	Round         int
	Fit, Evaluate struct {
		Results  int
		Seconds  float64
		Received int64 `json:"bytes_received"`
		Below    *struct{ Results int64 }
	}
}

// configure starts the training.
func configure(ctx context.Context, rest string, rounds, clients int) error {
	body, err := json.Marshal(map[string]any{
		"strategy": "avg", "model_name": "bench", "model_version": "1", "configuration_id": 1, "client_conf": []any{},
		"server_conf": map[string]any{"num_rounds": rounds}, "privacy-mechanisms": map[string]any{},
		"strategy_conf": map[string]any{"min_fit_clients": clients, "min_evaluate_clients": clients, "min_available_clients": clients},
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, rest+"/job/config/bench", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && strings.TrimSpace(string(text)) != "200" {
		err = fmt.Errorf("configure the training: %.300s", text)
	}
	return err
}

func get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(url + ": " + answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
