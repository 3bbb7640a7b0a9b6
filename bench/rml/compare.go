package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

// bench is one comparison under way.
type bench struct {
	settings
	runner
	started  time.Time
	self     string // this program
	engines  []engine
	missing  map[string]string // why an engine is not there
	results  map[[2]string]*result
	ordering []*result
}

// compare runs every workload on every engine and writes the record.
func compare(ctx context.Context, s settings) error {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	scratch, err := os.MkdirTemp("", "bench-rml-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := &bench{settings: s, started: time.Now(), missing: map[string]string{}, results: map[[2]string]*result{}}
	if b.runner, err = newRunner(scratch, s.timeout); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	ours, err := rig.Build(ctx, scratch, "rml")
	if err != nil {
		return err
	}
	b.engines = engines(b.self, ours)
	b.install(ctx)
	var cases []workload.Case
	for _, c := range workload.Cases(s.sizes) {
		if only.MatchString(c.Name) {
			cases = append(cases, c)
			if err := c.WriteTo(b.folder(c)); err != nil {
				return err
			}
		}
	}
	for round := range s.rounds {
		for _, c := range cases {
			for _, e := range b.engines {
				if err := b.runOnce(ctx, round, c, e); err != nil {
					return err
				}
			}
		}
	}
	return b.record(ctx).write(s.out)
}

func (b *bench) folder(c workload.Case) string { return filepath.Join(b.scratch, c.Name) }

func (b *bench) engineDir(e engine) string {
	return filepath.Join(b.cache, strings.ToLower(strings.ReplaceAll(e.name, "-", "")))
}

func (b *bench) install(ctx context.Context) {
	for _, e := range b.engines {
		fmt.Fprintf(os.Stderr, "install %s\n", e.name)
		if err := (installer{ctx, b.engineDir(e)}).ensure(e.install); err != nil {
			b.missing[e.name] = err.Error()
			fmt.Fprintf(os.Stderr, "install %s: %v\n", e.name, err)
		}
	}
}

func (b *bench) result(c workload.Case, e engine) *result {
	key := [2]string{c.Name, e.name}
	if r, ok := b.results[key]; ok {
		return r
	}
	r := &result{Group: string(c.Group), Case: c.Name, Engine: e.name, Expected: c.Statements}
	b.results[key] = r
	b.ordering = append(b.ordering, r)
	return r
}

// runOnce runs a workload on an engine, unless it is known to be of no use.
func (b *bench) runOnce(ctx context.Context, round int, c workload.Case, e engine) error {
	r := b.result(c, e)
	switch {
	case round > 0 && r.Status != statusOK:
		return nil
	case round > 0 && c.Group != workload.Message && e.name != b.engines[0].name && r.Wall[0] > b.repeatBelow.Seconds():
		return nil
	case b.missing[e.name] != "":
		r.fail(statusMissing, b.missing[e.name])
		return nil
	case c.Group == workload.Message && e.message == nil:
		r.fail(statusNotOffered, e.noMessage)
		return nil
	}
	dir := b.folder(c)
	output := filepath.Join(dir, "output-"+strings.ToLower(e.name)+".nq")
	if e.name == "Morph-KGC" {
		output = strings.TrimSuffix(output, ".nq") + ".nt" // it insists
	}
	used, stdout, err := b.start(ctx, e, job{c: c, dir: dir, output: output, warmUp: b.warmUp(e), seconds: b.seconds})
	fmt.Fprintf(os.Stderr, "round %d  %-22s %-10s %8.3f s %6d MB  %s\n", round+1, c.Name, e.name,
		used.wall.Seconds(), used.rss>>20, stdout)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTimeout):
		r.fail(statusTimeout, "stopped after "+b.settings.timeout.String())
		return nil
	case err != nil:
		r.fail(statusFailed, err.Error())
		return nil
	}
	r.Wall = append(r.Wall, used.wall.Seconds())
	r.RSS = max(r.RSS, used.rss)
	if c.Group == workload.Message {
		var messages, elapsed float64
		if _, err := fmt.Sscan(stdout, &messages, &elapsed); err != nil {
			r.fail(statusFailed, "printed "+stdout)
			return nil
		}
		r.Rate = append(r.Rate, messages/elapsed)
	}
	if _, err := os.Stat(output); err != nil {
		r.fail(statusFailed, "ended well and wrote no file: "+stdout)
		return nil
	}
	b.check(ctx, round, c, r, output)
	return os.Remove(output)
}

// warmUp returns the seconds that an engine warms up, fewer in a quick run.
func (b *bench) warmUp(e engine) float64 { return min(e.warmUp.Seconds(), 6*b.seconds) }

// start runs an engine and returns what it printed, unless that is the output.
func (b *bench) start(ctx context.Context, e engine, j job) (usage, string, error) {
	var command call
	if j.c.Group == workload.Message {
		command = e.message(b.engineDir(e), j)
	} else {
		var err error
		if command, err = e.batch(b.engineDir(e), j); err != nil {
			return usage{}, "", err
		}
	}
	if !command.stdout {
		var stdout bytes.Buffer
		used, err := b.run(ctx, j.dir, command.args, nil, &stdout)
		return used, lastLine(stdout.Bytes()), err
	}
	file, err := os.Create(j.output)
	if err != nil {
		return usage{}, "", err
	}
	defer file.Close()
	used, err := b.run(ctx, j.dir, command.args, nil, file)
	return used, "", err
}

// check compares what an engine wrote with what was expected and, in the first
// round, with what our engine wrote. Later rounds must write as much as the
// first.
func (b *bench) check(ctx context.Context, round int, c workload.Case, r *result, output string) {
	if round > 0 {
		lines, err := countLines(output)
		if err != nil || lines != r.Written {
			r.fail(statusWrong, fmt.Sprintf("wrote %d statements in round %d, %d in round 1", lines, round+1, r.Written))
		}
		return
	}
	o, err := b.describe(ctx, output)
	if err != nil {
		r.fail(statusWrong, fmt.Sprintf("output cannot be read: %v", err))
		return
	}
	r.Written, r.Distinct, r.Digest = o.Written, o.Distinct, o.Digest
	r.Status = statusOK
	if o.Distinct != c.Statements {
		r.fail(statusWrong, fmt.Sprintf("%d distinct statements instead of %d", o.Distinct, c.Statements))
	}
	reference := filepath.Join(b.folder(c), "reference.nq")
	switch ours := b.result(c, b.engines[0]); {
	case r == ours:
		err = os.Link(output, reference)
	case r.Digest != ours.Digest && ours.Digest != "":
		o, err = b.describe(ctx, output, reference)
		r.Differs = o.Other
	}
	if err != nil {
		r.fail(statusFailed, err.Error())
	}
}

// describe describes a document, beside a reference if there is one.
func (b *bench) describe(ctx context.Context, files ...string) (outcome, error) {
	var stdout bytes.Buffer
	if _, err := b.run(ctx, b.scratch, append([]string{b.self, "check"}, files...), nil, &stdout); err != nil {
		return outcome{}, err
	}
	var o outcome
	err := json.Unmarshal(stdout.Bytes(), &o)
	return o, err
}
