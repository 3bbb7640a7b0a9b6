package round

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
)

// maxMetrics bounds the metrics of an answer and of a round.
const maxMetrics = 1000

// Result is the result of a phase.
type Result struct {
	// Model is the new model of a fit; nil if the model stays as it was.
	Model strategy.Model
	// Loss is the aggregated loss of an evaluation; nil if there is none.
	Loss *float64
	// Metrics are the aggregated metrics.
	Metrics map[string]float64
	// Phase counts the clients and their answers.
	Phase report.Phase
	// Notes say what is notable.
	Notes []string
	// Refused are the updates that were refused, at most [report.MaxQuarantined].
	Refused []report.Quarantine
}

// note adds a note, unless it is empty.
func (r *Result) note(text string) {
	if text != "" {
		r.Notes = append(r.Notes, text)
	}
}

// tally collects the answers of a phase.
type tally struct {
	Result
	round int

	mu       sync.Mutex
	reports  []strategy.Report
	losses   []strategy.Report
	first    string // the first failure
	refusals int64  // of clients of this collector
	cut      int    // clients that were not waited for
	fatal    error  // of which no client is the cause
}

// answer is the part of a client's answer that is kept.
type answer struct {
	report strategy.Report
	loss   *float64
	bytes  int64
	below  *upstream.Summary // of an edge, in place of report and loss
}

// fatalError is an error that no client has caused.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// ask calls all clients of a phase at once and counts their answers.
func (c *Conductor) ask(ctx context.Context, number int, phase strategy.Phase, clients []*Client, sent flower.Parameters,
	call func(asking context.Context, i int) (answer, error)) (*tally, error) {
	y := &tally{round: number}
	y.Phase = report.Phase{Clients: len(clients), Sent: length(sent) * int64(len(clients))}
	asking, cancel := within(ctx, c.config.Timeout)
	defer cancel()
	began := time.Now()
	var group sync.WaitGroup
	for i, client := range clients {
		group.Go(func() {
			got, err := c.call(asking, phase, client, func(calling context.Context) (answer, error) { return call(calling, i) })
			if y.count(client, got, err) {
				cancel() // the other answers cannot help any more
			}
			if ctx.Err() == nil {
				c.logFailure(number, phase, client, err)
			}
		})
	}
	group.Wait()
	y.Phase.Seconds = time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.config.Ending.Err() != nil:
		return nil, context.Cause(c.config.Ending) // clients that were sent away did not fail
	case y.fatal != nil:
		return nil, fmt.Errorf("%v of round %d: %w", phase, number, y.fatal)
	}
	y.noteFailures(phase)
	return y, nil
}

// noteFailures says how many clients failed, if any did.
func (y *tally) noteFailures(phase strategy.Phase) {
	if y.Phase.Failures > 0 {
		y.note(fmt.Sprintf("%v: %d of %d clients failed, the first: %s", phase, y.Phase.Failures, y.Phase.Clients, y.first))
	}
}

// call has a client carry out an instruction, in a span of its own.
func (c *Conductor) call(ctx context.Context, phase strategy.Phase, client *Client,
	do func(ctx context.Context) (answer, error)) (answer, error) {
	ctx, span := c.config.Tracer.Start(ctx, phase.String(), tracing.Client)
	if span.On() {
		span.Text("client.address", client.Peer.Addr)
		span.Text("flower.client", excerpt.Client(client.Name()))
	}
	got, err := do(ctx)
	span.Fail(err)
	span.End()
	return got, err
}

// logFailure logs the error of a client, if there is one.
func (c *Conductor) logFailure(number int, phase strategy.Phase, client *Client, err error) {
	if err != nil && !errors.Is(err, errCutOff) {
		c.config.Log.Info("client failed", "round", number, "phase", phase,
			"client", excerpt.Client(client.Name()), "error", excerpt.Reason(err))
	}
}

// within bounds a context, if there is a bound.
func within(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	if bound > 0 {
		return context.WithTimeout(ctx, bound)
	}
	return context.WithCancel(ctx)
}

// failures returns how many answers have failed so far.
func (y *tally) failures() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.Phase.Failures
}

// count counts an answer, and reports whether the phase has failed.
func (y *tally) count(c *Client, got answer, err error) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.Phase.Received += got.bytes
	if errors.Is(err, errCutOff) {
		y.cut++
		return false
	}
	if err == nil && got.below != nil {
		y.Phase.Results++
		y.join(c, *got.below)
		return false
	}
	if err == nil {
		y.Phase.Results++
		y.reports = append(y.reports, got.report)
		if got.loss != nil {
			loss := map[string]any{"loss": *got.loss}
			y.losses = append(y.losses, strategy.Report{Client: got.report.Client, Examples: got.report.Examples, Metrics: loss})
		}
		return false
	}
	y.Phase.Failures++
	name, reason := excerpt.Client(c.Name()), excerpt.Reason(err)
	if y.first == "" {
		y.first = fmt.Sprintf("%q: %s", name, reason)
	}
	if errors.Is(err, strategy.ErrQuarantined) {
		y.refusals++
	}
	if errors.Is(err, strategy.ErrQuarantined) && len(y.Refused) < report.MaxQuarantined {
		y.Refused = append(y.Refused, report.Quarantine{Round: y.round, Client: name, Reason: reason})
	}
	var fatal *fatalError
	if errors.As(err, &fatal) && y.fatal == nil {
		y.fatal = fatal.error
	}
	return y.fatal != nil
}

// bounded returns the means that can be stored: the finite ones, at most [maxMetrics].
func bounded(means map[string]float64) map[string]float64 {
	kept := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(means)) {
		if v := means[name]; len(kept) < maxMetrics && !math.IsInf(v, 0) && !math.IsNaN(v) {
			kept[name] = v
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// averageable returns the metrics of an answer, whose number is bounded, without the
// content of text and bytes: of these only the type matters.
func averageable(metrics flower.Config) (map[string]any, error) {
	if len(metrics) > maxMetrics {
		return nil, fmt.Errorf("%w: %d metrics, at most %d", strategy.ErrQuarantined, len(metrics), maxMetrics)
	}
	kept := make(map[string]any, len(metrics))
	for name, v := range metrics {
		if len(name) > excerpt.MaxClient {
			return nil, fmt.Errorf("%w: a metric's name has %d bytes, at most %d", strategy.ErrQuarantined, len(name), excerpt.MaxClient)
		}
		switch v.(type) {
		case string:
			v = ""
		case []byte:
			v = []byte(nil)
		}
		kept[name] = v
	}
	return kept, nil
}
