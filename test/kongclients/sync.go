package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/blang/semver/v4"
	"github.com/kong/go-database-reconciler/pkg/diff"
	"github.com/kong/go-database-reconciler/pkg/dump"
	"github.com/kong/go-database-reconciler/pkg/file"
	"github.com/kong/go-database-reconciler/pkg/state"
	"github.com/kong/go-kong/kong"
)

// wanted is the file that is synchronised.
const wanted = `_format_version: "3.0"
services:
- name: lamps
  url: https://lamps.example/v2
  tags: [home]
  routes:
  - name: lamps
    paths: ["~/lamps/(?<id>[^/]+)$", /lamps]
    methods: [GET, PUT]
    strip_path: false
    plugins:
    - name: request-termination
      config: {status_code: 503, message: closed}
consumers:
- username: ann
  keyauth_credentials:
  - key: key-of-ann
upstreams:
- name: pool
  healthchecks:
    passive:
      unhealthy: {http_failures: 3}
  targets:
  - target: 10.0.0.1:80
  - target: 10.0.0.2:80
    weight: 50
plugins:
- name: cors
`

// sync does with the gateway what "deck gateway sync", "diff" and "dump" do with Kong:
// it makes it serve a file, finds nothing to change then, changes one thing, and
// empties it.
func sync(ctx context.Context, c *kong.Client) error {
	folder, err := os.MkdirTemp("", "kongclients")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, step := range []struct {
		name, file             string
		create, update, remove int32
	}{
		{"sync the file", wanted, 9, 0, 0},
		{"sync the same file", wanted, 0, 0, 0},
		{"sync a change", wanted + "  enabled: false\n", 0, 1, 0},
		{"sync nothing", `_format_version: "3.0"`, 0, 0, 9},
	} {
		path := filepath.Join(folder, "kong.yaml")
		if err := os.WriteFile(path, []byte(step.file), 0o600); err != nil {
			return err
		}
		stats, err := reconcile(ctx, c, path)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if got := [3]int32{stats.CreateOps.Count(), stats.UpdateOps.Count(),
			stats.DeleteOps.Count()}; got != [3]int32{step.create, step.update, step.remove} {
			return fmt.Errorf("%s: %d entities were created, %d updated and %d deleted, instead of %d, %d and %d",
				step.name, got[0], got[1], got[2], step.create, step.update, step.remove)
		}
		if err := dumped(ctx, c, filepath.Join(folder, "dump.yaml")); err != nil {
			return fmt.Errorf("%s: dump: %w", step.name, err)
		}
	}
	return nil
}

// current is what the gateway serves.
func current(ctx context.Context, c *kong.Client) (*state.KongState, error) {
	raw, err := dump.Get(ctx, c, dump.Config{})
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	// This go-kong is newer than what the reconciler was made for: it has an empty list
	// where the reconciler, comparing, has none.
	for _, plugin := range raw.Plugins {
		if len(plugin.Partials) == 0 {
			plugin.Partials = nil
		}
	}
	return state.Get(raw)
}

func reconcile(ctx context.Context, c *kong.Client, path string) (diff.Stats, error) {
	now, err := current(ctx, c)
	if err != nil {
		return diff.Stats{}, err
	}
	content, err := file.GetContentFromFiles([]string{path}, false)
	if err != nil {
		return diff.Stats{}, err
	}
	raw, err := file.Get(ctx, content, file.RenderConfig{CurrentState: now, KongVersion: semver.MustParse("3.4.0")},
		dump.Config{}, c)
	if err != nil {
		return diff.Stats{}, fmt.Errorf("render file: %w", err)
	}
	target, err := state.Get(raw)
	if err != nil {
		return diff.Stats{}, err
	}
	quiet := func(...any) {}
	syncer, err := diff.NewSyncer(diff.SyncerOpts{CurrentState: now, TargetState: target, KongClient: c,
		SilenceWarnings: true, CreatePrintln: print, UpdatePrintln: print, DeletePrintln: quiet})
	if err != nil {
		return diff.Stats{}, err
	}
	stats, faults, _ := syncer.Solve(ctx, 1, false, false)
	return stats, errors.Join(faults...)
}

// print writes what is created and updated, to find out why.
func print(a ...any) { fmt.Fprintln(os.Stderr, a...) }

// dumped writes what the gateway serves to a file.
func dumped(ctx context.Context, c *kong.Client, path string) error {
	now, err := current(ctx, c)
	if err != nil {
		return err
	}
	return file.KongStateToFile(now, file.WriteConfig{Filename: path, FileFormat: file.YAML, KongVersion: "3.4.0"})
}
