package load

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	// Kills is the environment variable with the number of kills. A few are enough to see a
	// fault of the ordinary way; a record needs many.
	Kills = "ENABLERS_KILLS"
	// Seed is the one with the number that chooses what is killed, and when: that of a run
	// that failed, say. Without it every run is another.
	Seed = "ENABLERS_KILL_SEED"
)

// Patience ends a test that waits in vain. It says nothing about how long things take.
const Patience = 2 * time.Minute

// Number reads an environment variable.
func Number(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: expected a number: %v", variable, err)
	}
	return n
}

// Gaps are the times for which something stood still.
type Gaps []time.Duration

// String returns how many they are, and their distribution.
func (g Gaps) String() string {
	if len(g) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(g))
	at := func(i int) time.Duration { return sorted[i].Round(time.Millisecond) }
	return fmt.Sprintf("%d: p50 %v, p95 %v, max %v", len(g), at(len(g)/2), at((len(g)*95-1)/100), at(len(g)-1))
}
