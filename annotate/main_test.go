package annotate_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run when a goroutine of this package outlives the tests:
// what starts a goroutine must wait for its end.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if leaked := leakedGoroutines(); leaked != "" {
			fmt.Fprintf(os.Stderr, "goroutines outlived the tests:\n%s\n", leaked)
			code = 1
		}
	}
	os.Exit(code)
}

// leakedGoroutines returns the stacks of goroutines of this module that remain
// after a while; those of the tests' own main excepted.
func leakedGoroutines() string {
	var leaked []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buffer := make([]byte, 1<<20)
		stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
		leaked = leaked[:0]
		for _, stack := range stacks[1:] { // the first one is this goroutine
			if strings.Contains(stack, "iotenablers/enablers/") {
				leaked = append(leaked, stack)
			}
		}
		if len(leaked) == 0 {
			return ""
		}
	}
	return strings.Join(leaked, "\n\n")
}
