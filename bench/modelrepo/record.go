package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	rig.Head
	Large []*largeTrial `json:"large,omitempty"`
	Huge  *hugeTrial    `json:"huge,omitempty"`
	Small []*smallTrial `json:"small,omitempty"`
	Pages []*pagesTrial `json:"pages,omitempty"`
	Hows  []string      `json:"hows"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Head: rig.NewHead(ctx, "modelrepo", []string{
			"distribution " + rig.ModuleVersion(ctx, "bench/modelrepo/registry", "github.com/distribution/distribution/v3"),
			"MinIO " + rig.ModuleVersion(ctx, "test/minio", "github.com/minio/minio"),
		}, "modelrepo", "storage", "cmd/modelrepo", "bench/modelrepo", "bench/internal", "go.mod", "bench/go.mod"),
	}
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	return rig.Write(dir, rig.FileName(r.Date), r, r.markdown())
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if err := r.Join(other.Head); err != nil {
		return err
	}
	r.Large, r.Small, r.Pages = append(r.Large, other.Large...), append(r.Small, other.Small...),
		append(r.Pages, other.Pages...)
	r.Huge = cmp.Or(r.Huge, other.Huge)
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
