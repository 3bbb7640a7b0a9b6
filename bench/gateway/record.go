package main

import (
	"context"
	"os/exec"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	rig.Head
	Seconds float64  `json:"secondsOfATrial"`
	Trials  []*trial `json:"trials"`
	Hows    []string `json:"hows"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Seconds: s.length.Seconds(),
		Head: rig.NewHead(ctx, "gateway", []string{
			said(ctx, "nginx", "-v"), said(ctx, "wrk", "-v"),
			"Caddy " + required(ctx, "bench/gateway/caddy", "github.com/caddyserver/caddy/v2"),
			"lura " + required(ctx, "bench/gateway/krakend", "github.com/luraproject/lura/v2"),
			"krakend-jose " + required(ctx, "bench/gateway/krakend", "github.com/krakendio/krakend-jose/v2"),
		}, "apimgmt", "bench/gateway", "bench/internal", "go.mod", "bench/go.mod"),
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

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if err := r.Join(other.Head); err != nil {
		return err
	}
	r.Trials = append(r.Trials, other.Trials...)
	return nil
}
