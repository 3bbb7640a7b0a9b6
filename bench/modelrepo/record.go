package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	Date     string        `json:"date"`
	Commit   string        `json:"commit"`
	Command  string        `json:"command"`
	Machine  string        `json:"machine"`
	Versions []string      `json:"versions"`
	Large    []*largeTrial `json:"large,omitempty"`
	Huge     *hugeTrial    `json:"huge,omitempty"`
	Small    []*smallTrial `json:"small,omitempty"`
	Pages    []*pagesTrial `json:"pages,omitempty"`
	Hows     []string      `json:"hows"`
	Problems []string      `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Date:    time.Now().UTC().Format(time.RFC3339),
		Commit:  rig.Commit(ctx, "modelrepo", "storage", "cmd/modelrepo", "bench/modelrepo", "bench/internal", "go.mod", "bench/go.mod"),
		Command: rig.Command("modelrepo"),
		Machine: rig.ThisMachine(ctx).String(),
		Versions: []string{
			runtime.Version(),
			"distribution " + required(ctx, "bench/modelrepo/registry", "github.com/distribution/distribution/v3"),
			"MinIO " + required(ctx, "test/minio", "github.com/minio/minio"),
		},
	}
}

// required returns the version of a module that a peer is built from.
func required(ctx context.Context, folder, module string) string {
	return rig.Printed(ctx, "go", "-C", folder, "list", "-m", "-f", "{{.Version}}", module)
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	return rig.Write(dir, rig.FileName(r.Date), r, r.markdown())
}

// rewrite writes RESULTS.md beside the folder of some records, the trials of
// all together.
func rewrite(files []string) error {
	all, dir, err := rig.ReadAll(files, (*record).add)
	if err != nil {
		return err
	}
	return rig.WriteReport(dir, all.markdown())
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if r.Machine != other.Machine || !slices.Equal(r.Versions, other.Versions) {
		return errors.New("it is of another machine, or of other versions")
	}
	r.Date += " and " + other.Date
	r.Command += "` and `" + other.Command
	if other.Commit != r.Commit {
		r.Commit += " and " + other.Commit
	}
	r.Large, r.Small, r.Pages = append(r.Large, other.Large...), append(r.Small, other.Small...),
		append(r.Pages, other.Pages...)
	r.Huge = cmp.Or(r.Huge, other.Huge)
	r.Problems = append(r.Problems, other.Problems...)
	return nil
}

// names are the contenders in the order of their first trials.
func names[T any](trials []T, name func(T) string) []string {
	var all []string
	for _, t := range trials {
		if !slices.Contains(all, name(t)) {
			all = append(all, name(t))
		}
	}
	return all
}
