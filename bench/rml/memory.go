package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

// memory maps inputs of a tenth of the size and of the whole size, and writes
// down the peaks of memory in MEMORY.md. Memory is constant if the two agree.
func memory(ctx context.Context, s settings) error {
	scratch, err := os.MkdirTemp("", "bench-rml-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r, err := newRunner(scratch, 10*time.Minute)
	if err != nil {
		return err
	}
	tool, err := rig.Build(ctx, scratch, "rml")
	if err != nil {
		return err
	}
	m := rig.ThisMachine(ctx)
	var b strings.Builder
	fmt.Fprintf(&b, "# Memory\n\nWritten by the benchmark; do not edit. `%s`, %s, commit %s, %s, %d cores, %s.\n\n",
		command(), time.Now().UTC().Format(time.RFC3339), commit(ctx), m.CPU, m.Cores, m.Kernel)
	fmt.Fprintf(&b, "`rml map` on observations, %d statements a row. NDJSON comes from standard input with "+
		"`-stream ndjson`, the others from a file. Processor time is that of the process, in user and kernel mode.\n\n",
		workload.StreamStatements)
	b.WriteString("| Input | Rows | Wall time | Processor time | Rows a processor second | Peak memory | Statements |\n" +
		"|---|---:|---:|---:|---:|---:|---|\n")
	for _, format := range []string{workload.NDJSON, workload.JSON, workload.XML, workload.CSV} {
		for _, size := range []int64{s.bytes / 10, s.bytes} {
			line, err := measureMemory(ctx, r, tool, filepath.Join(scratch, format), format, size)
			if err != nil {
				return err
			}
			fmt.Fprint(os.Stderr, line)
			b.WriteString(line)
		}
	}
	return os.WriteFile(filepath.Join(s.out, "MEMORY.md"), []byte(b.String()), 0o644)
}

// measureMemory maps one input and returns its row of the table.
func measureMemory(ctx context.Context, r runner, tool, dir, format string, size int64) (string, error) {
	mapping, source, rows := workload.Stream(format, size)
	c := workload.Case{Name: format, Sources: []workload.Source{source}, Mapping: mapping}
	if err := c.WriteTo(dir); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	input, err := os.Open(filepath.Join(dir, source.Name))
	if err != nil {
		return "", err
	}
	defer input.Close()
	info, err := input.Stat()
	if err != nil {
		return "", err
	}
	output, err := os.Create(filepath.Join(dir, "output.nt"))
	if err != nil {
		return "", err
	}
	defer output.Close()
	args := []string{tool, "map", "-mapping", workload.MappingFile, "-format", "ntriples"}
	if format == workload.NDJSON {
		args = append(args, "-stream", "ndjson")
	}
	used, runErr := r.run(ctx, dir, args, input, output)
	head := fmt.Sprintf("| %d MB of %s | %d | %.1f s |", info.Size()>>20, format, rows, used.wall.Seconds())
	var exit *exec.ExitError
	switch {
	case errors.Is(runErr, errTimeout), errors.As(runErr, &exit):
		return fmt.Sprintf("%s | | | **failed:** %v |\n", head, runErr), nil
	case runErr != nil:
		return "", runErr
	}
	lines, err := countLines(output.Name())
	if err != nil {
		return "", err
	}
	verdict := fmt.Sprint(lines)
	if lines != rows*workload.StreamStatements {
		verdict = fmt.Sprintf("**wrong:** %d instead of %d", lines, rows*workload.StreamStatements)
	}
	return fmt.Sprintf("%s %.1f s | %.0f | %d MB | %s |\n", head, used.cpu.Seconds(), float64(rows)/used.cpu.Seconds(),
		used.rss>>20, verdict), nil
}
