package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Commit returns the commit that is measured, and says so if one of the paths
// has changes since.
func Commit(ctx context.Context, paths ...string) string {
	id := Printed(ctx, "git", "rev-parse", "--short", "HEAD")
	if Printed(ctx, "git", append([]string{"status", "--porcelain", "--"}, paths...)...) != "" {
		return id + " with uncommitted changes"
	}
	return id
}

// Command is how the benchmark in that folder of bench was called, if that was with
// go run from the root of the project.
func Command(benchmark string) string {
	return strings.TrimSpace("go run -C bench ./" + benchmark + " " + strings.Join(os.Args[1:], " "))
}

// Write writes a record as JSON into the file of that name in the folder
// results below dir, and beside that folder the report, RESULTS.md.
func Write(dir, name string, record any, report string) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	results := filepath.Join(dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(results, name), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return WriteReport(dir, report)
}

// WriteReport writes RESULTS.md in dir.
func WriteReport(dir, report string) error {
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), []byte(report), 0o644)
}

// Read reads the file of a record, and returns the folder that [Write] was
// called with besides.
func Read[R any](file string) (record R, dir string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return record, "", err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return record, "", fmt.Errorf("read record %q: %w", file, err)
	}
	return record, filepath.Dir(filepath.Dir(file)), nil
}

// ReadAll reads the files of some records and adds the others to the first. It
// returns the folder of the first besides.
func ReadAll[R any](files []string, add func(all *R, other R) error) (all R, dir string, err error) {
	if len(files) == 0 {
		return all, "", errors.New("report: the file of a record is needed")
	}
	if all, dir, err = Read[R](files[0]); err != nil {
		return all, "", err
	}
	for _, file := range files[1:] {
		other, _, err := Read[R](file)
		if err == nil {
			err = add(&all, other)
		}
		if err != nil {
			return all, "", fmt.Errorf("add record %q: %w", file, err)
		}
	}
	return all, dir, nil
}

// Rewrite writes the report of some records beside the folder of their files, the trials of all
// together.
func Rewrite[R any](files []string, add func(all *R, other R) error, report func(*R) string) error {
	all, dir, err := ReadAll(files, add)
	if err != nil {
		return err
	}
	return WriteReport(dir, report(&all))
}

// Head is what every record says of its run, or of several.
type Head struct {
	Date     string   `json:"date"`
	Commit   string   `json:"commit"`
	Command  string   `json:"command"`
	Machine  string   `json:"machine"`
	Versions []string `json:"versions"`
	Problems []string `json:"problems,omitempty"`
}

// NewHead returns the head of a run of a benchmark that begins now. The versions are those of peers,
// besides Go's; the paths are those of what is measured.
func NewHead(ctx context.Context, benchmark string, versions []string, paths ...string) Head {
	return Head{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: Commit(ctx, paths...), Command: Command(benchmark),
		Machine: ThisMachine(ctx).String(), Versions: append([]string{runtime.Version()}, versions...),
	}
}

// Join adds another run, which must have been on the same machine with the same versions.
func (h *Head) Join(other Head) error {
	if h.Machine != other.Machine || !slices.Equal(h.Versions, other.Versions) {
		return errors.New("it is of another machine, or of other versions")
	}
	h.Date += " and " + other.Date
	h.Command += "` and `" + other.Command
	if other.Commit != h.Commit {
		h.Commit += " and " + other.Commit
	}
	h.Problems = append(h.Problems, other.Problems...)
	return nil
}

// Markdown returns the beginning of a report with a title.
func (h *Head) Markdown(title string) string {
	return fmt.Sprintf("# %s\n\nWritten by the benchmark; do not edit. `%s`, %s, commit %s.\n\n- Machine: %s\n- Versions: %s\n",
		title, h.Command, h.Date, h.Commit, h.Machine, strings.Join(h.Versions, "; "))
}

// FileName is the name of a record that began at a time in RFC 3339, in UTC.
func FileName(began string) string {
	return strings.NewReplacer(":", "", "T", "-", "Z", "").Replace(began) + ".json"
}

// NotMeasured is the section of a report about what went wrong, empty if
// nothing did.
func NotMeasured(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Not measured\n\n")
	for _, p := range problems {
		fmt.Fprintf(&b, "- %s\n", FirstLine(p))
	}
	return b.String()
}

// FirstLine returns the text up to its first line break.
func FirstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
