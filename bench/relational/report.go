package main

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// report writes a record in Markdown.
func report(r record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A table of PostgreSQL\n\n%s rows, %s statements each. %s, commit %s.\n\n", rig.Thousands(r.Rows),
		rig.Thousands(statementsPerRow), r.Began, r.Commit)
	fmt.Fprintf(&b, "Machine: %v. PostgreSQL %s on the same machine. Load average %.1f before, %.1f after; "+
		"other programs ran beside it, so CPU time says more than wall time. CPU and memory are those of the engine, "+
		"of all its processes together, looked at four times per second, without the server. An engine is stopped after "+
		"%.0f minutes or at %d MB.\n\n",
		r.Machine, r.Server, r.Load, r.LoadAfter, r.TimeoutS/60, r.MemoryMB)
	b.WriteString("| engine | version | wall s | CPU s | peak MB | rows a CPU second | " +
		"statements on 1,000 rows, beside those of rml | |\n|---|---|--:|--:|--:|--:|---|---|\n")
	for _, x := range r.Results {
		cpu, rate := x.UserS+x.SystemS, "-"
		if x.Failure == "" && cpu > 0 {
			rate = rig.Thousands(int(float64(x.Rows) / cpu))
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.0f | %d | %s | %s | %s |\n", x.Engine, x.Version, x.WallS, cpu, x.PeakBytes>>20, rate,
			cell(x.Agreement), cell(x.Failure))
	}
	b.WriteString("\n## How they ran\n\n")
	for _, x := range r.Results {
		fmt.Fprintf(&b, "- %s: %s\n", x.Engine, x.How)
	}
	return b.String()
}

// cell keeps a text within a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}
