package main

import (
	"context"

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
			rig.PeerVersion(ctx, "nginx", "-v"), rig.PeerVersion(ctx, "wrk", "-v"),
			"Caddy " + rig.ModuleVersion(ctx, "bench/gateway/caddy", "github.com/caddyserver/caddy/v2"),
			"lura " + rig.ModuleVersion(ctx, "bench/gateway/krakend", "github.com/luraproject/lura/v2"),
			"krakend-jose " + rig.ModuleVersion(ctx, "bench/gateway/krakend", "github.com/krakendio/krakend-jose/v2"),
		}, "apimgmt", "bench/gateway", "bench/internal", "go.mod", "bench/go.mod"),
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
	r.Trials = append(r.Trials, other.Trials...)
	return nil
}
