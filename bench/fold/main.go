// Command fold measures the exact fold of package strategy beside an axpy in C.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func main() { rig.Main("fold", run) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fold", flag.ContinueOnError)
	rounds := flags.Int("rounds", 7, "rounds, each of which measures both sides")
	runs := flags.Int("runs", 30, "folds per round, of which the fastest counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return compare(ctx, *rounds, *runs)
}

func compare(ctx context.Context, rounds, runs int) error {
	folder, err := os.MkdirTemp("", "fold")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "axpy")
	build := exec.CommandContext(ctx, "gcc", "-O3", "-march=native", "-o", program, "bench/fold/axpy/axpy.c")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("compile axpy.c, in the root of the project: %w: %s", err, output)
	}
	fmt.Printf("%s, %s/%s, %d processors, %s\n\n", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version())
	fmt.Println("| parameters | C axpy, 32 bits, GB/s | C axpy into 64 bits | exact fold | of axpy, median " +
		"(least–greatest) |")
	fmt.Println("|---:|---:|---:|---:|---:|")
	for _, n := range []int{100_000, 1_000_000, 10_000_000, 25_000_000} {
		var narrow, wide, ours, ratios []float64
		for range rounds {
			var a, b, ignored float64
			output, err := exec.CommandContext(ctx, program, fmt.Sprint(n), fmt.Sprint(runs)).Output()
			if err != nil {
				return err
			}
			if _, err := fmt.Sscan(string(output), &a, &b, &ignored); err != nil {
				return err
			}
			c, err := fold(n, runs)
			if err != nil {
				return err
			}
			narrow, wide, ours, ratios = append(narrow, a), append(wide, b), append(ours, c), append(ratios, c/a)
		}
		slices.Sort(ratios)
		fmt.Printf("| %d | %.1f | %.1f | %.1f | **%.0f %%** (%.0f–%.0f) |\n", n, median(narrow)/1e9,
			median(wide)/1e9, median(ours)/1e9,
			100*median(ratios), 100*ratios[0], 100*ratios[len(ratios)-1])
	}
	return nil
}

// fold returns the bytes of updates that are folded in a second, in the fastest of
// the runs. Like the peer it adds the same numbers again and again.
func fold(n, runs int) (float64, error) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(random.NormFloat64() / 20)
	}
	update := strategy.Model{tensor.FromFloat32s(values)}
	sum := strategy.NewSum(update)
	best := time.Duration(1<<63 - 1)
	for k := range runs {
		start := time.Now()
		if err := sum.Add(update, float64(100+k)); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return 4 * float64(n) / best.Seconds(), nil
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
