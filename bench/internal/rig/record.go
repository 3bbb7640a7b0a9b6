package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
