package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

func (b *bench) rules() string {
	var warmUps []string
	for _, e := range b.engines {
		if e.message != nil {
			warmUps = append(warmUps, fmt.Sprintf("%s %v s", e.name, b.warmUp(e)))
		}
	}
	return fmt.Sprintf("Up to %d rounds, every engine in turn; an engine that took longer than %v for a file in "+
		"the first round was not asked again. Timeout %v. "+
		"Messages: %v s measured, after a warm-up (%s), by the clock of the engine's own process. All else: wall "+
		"time of the whole process, its start included. "+
		"Medians. Peak memory is that of the largest process. In the first round the output was read back: "+
		"the number of distinct statements must be the expected one, or no time is given.",
		b.rounds, b.repeatBelow, b.settings.timeout, b.seconds, strings.Join(warmUps, ", "))
}

// heading is the title and explanation of a group in the report.
func heading(g workload.Group) (title, explanation string) {
	switch g {
	case workload.Message:
		return "A message at a time", "The 185-byte JSON observation to 12 statements, and the same in CSV and " +
			"XML: messages per second."
	case workload.Batch:
		return "Batches", "Files of such observations, 12 statements each."
	case workload.Records:
		return "Records", "CSV with an id and 10 columns, a statement a column. One record shows what starting costs."
	case workload.Columns:
		return "Columns", "A statement a column. With 10 columns: the middle one of the records."
	case workload.Duplicates:
		return "Duplicates", "Percent of the rows that repeat another. Engines may write a statement twice; the " +
			"graph counts. Without duplicates: the middle one of the records."
	case workload.Empty:
		return "Empty values", "Percent of the cells that are empty and give no statement. Without empty cells: " +
			"the middle one of the records."
	case workload.Mappings:
		return "Triples maps", "The same 15 columns by 15 triples maps of one predicate-object map, and by one of 15."
	default:
		return "Joins", "Two files joined on a key: children and parents that share it."
	}
}

func groups() []workload.Group {
	return []workload.Group{workload.Message, workload.Batch, workload.Records, workload.Columns,
		workload.Duplicates, workload.Empty, workload.Mappings, workload.Joins}
}

// markdown renders the record for people.
func (r record) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Engines side by side\n\nWritten by the benchmark; do not edit. `%s`, %s, commit %s, %.0f "+
		"minutes.\n\n", r.Command, r.Date, r.Commit, r.Minutes)
	fmt.Fprintf(&b, "- Machine: %s\n- Runtimes: %s\n- %s\n\n", r.Machine, strings.Join(r.Runtimes, "; "), r.Rules)
	b.WriteString("| Engine | Version | How it was used |\n|---|---|---|\n")
	for _, e := range r.Engines {
		how := e.How
		if e.Missing != "" {
			how = "**not installed:** " + e.Missing
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Name, e.Version, how)
	}
	b.WriteString("\nIn the tables, `12×` means that our engine was 12 times as fast in this run.\n")
	var notes []string
	for _, g := range groups() {
		if rows := r.rows(g, &notes); rows != "" {
			title, explanation := heading(g)
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", title, explanation, rows)
		}
	}
	if len(notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		for i, note := range notes {
			fmt.Fprintf(&b, "%d. %s\n", i+1, note)
		}
	}
	return b.String()
}

// rows renders the table of one group; empty if it was not run.
func (r record) rows(g workload.Group, notes *[]string) string {
	var b strings.Builder
	line, columns := "", 0
	var ours *result
	flush := func() {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	for _, res := range r.Results {
		if res.Group != string(g) {
			continue
		}
		if res.Engine == r.Engines[0].Name {
			flush()
			ours = res
			line = fmt.Sprintf("| %s | %d |", res.Case, res.Expected)
			columns++
		}
		line += " " + res.cell(ours, notes) + " |"
	}
	flush()
	if columns == 0 {
		return ""
	}
	header, rule := "| Workload | Statements |", "|---|---:|"
	for _, e := range r.Engines {
		header += " " + e.Name + " |"
		rule += "---:|"
	}
	return header + "\n" + rule + "\n" + b.String()
}

// cell renders one result: the time or rate, the memory and the ratio, or what
// went wrong, with a note.
func (r *result) cell(ours *result, notes *[]string) string {
	switch r.Status {
	case statusOK:
	case statusNotOffered, statusMissing:
		return r.Status + footnote(notes, r.Engine+": "+r.Reason)
	default:
		return r.Status + footnote(notes, r.Engine+", "+r.Case+": "+r.Reason)
	}
	var b strings.Builder
	if len(r.Rate) > 0 {
		fmt.Fprintf(&b, "%s/s", thousands(rig.Median(r.Rate)))
	} else {
		fmt.Fprintf(&b, "%.3g s", rig.Median(r.Wall))
	}
	fmt.Fprintf(&b, ", %d MB", r.RSS>>20)
	if r != ours && ours.Status == statusOK {
		fmt.Fprintf(&b, ", **%s×**", thousands(r.ratio(ours)))
	}
	if r.Differs != "" {
		b.WriteString(footnote(notes, fmt.Sprintf("%s, %s: the count is right and the graph is another; it has `%s`",
			r.Engine, r.Case, r.Differs)))
	}
	return b.String()
}

// footnote returns the mark for a note, which it adds unless it is there.
func footnote(notes *[]string, note string) string {
	i := slices.Index(*notes, note)
	if i < 0 {
		i = len(*notes)
		*notes = append(*notes, note)
	}
	return fmt.Sprintf(" (%d)", i+1)
}

// thousands writes a number with as many digits as it deserves.
func thousands(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g", v)
	}
	return rig.Thousands(int(math.RoundToEven(v)))
}
