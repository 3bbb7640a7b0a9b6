package scale_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// recording reports whether this run makes a record.
func recording() bool { return os.Getenv("SCALE") != "" }

func TestMain(m *testing.M) {
	if recording() {
		ctx := context.Background()
		fmt.Printf("%s, %s, load %.1f, %s, commit %s\n", time.Now().UTC().Format(time.DateOnly), rig.ThisMachine(ctx),
			rig.LoadAverage(), rig.Printed(ctx, "go", "version"),
			rig.Commit(ctx, "../../annotate", "../../apimgmt", "../../flcollect", "../../modelrepo", "../../multilink", "../../storage", "."))
	}
	os.Exit(m.Run())
}

// sizes returns those of every run, and in a record the great ones as well.
func sizes[S any](small, great []S) []S {
	if recording() {
		return append(small, great...)
	}
	return small
}

// heading begins a table.
func heading(title string, columns ...string) {
	if recording() {
		fmt.Printf("\n## %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	}
}

// row prints a line of a table: integers with commas, other numbers with three digits.
func row(values ...any) {
	if !recording() {
		return
	}
	cells := make([]string, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case int:
			cells[i] = rig.Thousands(v)
		case float64:
			cells[i] = number(v)
		default:
			cells[i] = fmt.Sprint(v)
		}
	}
	fmt.Printf("| %s |\n", strings.Join(cells, " | "))
}

func number(v float64) string {
	if v >= 1000 {
		return rig.Thousands(int(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
