package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	Date     string   `json:"date"`
	Commit   string   `json:"commit"`
	Command  string   `json:"command"`
	Machine  string   `json:"machine"`
	Versions []string `json:"versions"`
	Seconds  float64  `json:"secondsOfATrial"`
	Trials   []*trial `json:"trials"`
	Hows     []string `json:"hows"`
	Problems []string `json:"problems,omitempty"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Date:    time.Now().UTC().Format(time.RFC3339),
		Commit:  rig.Commit(ctx, "apimgmt", "bench/gateway", "bench/internal", "go.mod", "bench/go.mod"),
		Command: rig.Command("gateway"),
		Machine: rig.ThisMachine(ctx).String(),
		Seconds: s.length.Seconds(),
		Versions: []string{
			runtime.Version(),
			said(ctx, "nginx", "-v"), said(ctx, "wrk", "-v"),
			"Caddy " + required(ctx, "bench/gateway/caddy", "github.com/caddyserver/caddy/v2"),
			"lura " + required(ctx, "bench/gateway/krakend", "github.com/luraproject/lura/v2"),
			"krakend-jose " + required(ctx, "bench/gateway/krakend", "github.com/krakendio/krakend-jose/v2"),
		},
	}
}

// said is the first line that a command prints about its version, which some print on
// standard error and with a status of failure.
func said(ctx context.Context, name string, args ...string) string {
	text, _ := exec.CommandContext(ctx, name, args...).CombinedOutput()
	line, _, _ := strings.Cut(rig.FirstLine(string(text)), " [")
	return strings.TrimPrefix(line, "nginx version: ")
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
	r.Trials = append(r.Trials, other.Trials...)
	r.Problems = append(r.Problems, other.Problems...)
	return nil
}
