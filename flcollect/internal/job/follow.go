package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// edge is the training of a job that follows an upper server. It implements
// flower.Trainer, whose methods pass the instructions on to the goroutine of the training:
// that one completes a round whose instruction was lost with the connection, so that its
// clients are not disturbed.
type edge struct {
	*training
	orders chan order
	last   *report.Round // of the last fit

	// What follows belongs to the goroutine of follow.
	joined   time.Time // when the session began; zero if there was none
	settling *time.Timer
}

// order is an instruction of the upper server.
type order struct {
	asked context.Context // of the upper server's wait
	do    func(ctx context.Context) error
	done  chan error // has room for one
}

// settled is how long a session lasts before the connection counts as good.
const settled = 2 * time.Second

// join is called when a session has begun.
func (e *edge) join() {
	e.stopSettling()
	e.joined = time.Now()
	e.settling = time.AfterFunc(settled, func() { e.trouble(ofUpstream, nil) })
}

func (e *edge) stopSettling() {
	if e.settling != nil {
		e.settling.Stop()
	}
}

// follow is a client of the upper server, also after the connection was lost. It returns
// nil once the edge is disconnected, and an error when no other try would help or none has
// helped for the time that a job waits for clients.
func (e *edge) follow(ctx context.Context, link *flower.Client) error {
	defer e.trouble(ofUpstream, nil)
	pause := persist.Pauses()
	lost := time.Now()
	for {
		e.joined = time.Time{}
		err := link.Run(ctx)
		e.stopSettling()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil, errors.Is(err, flower.ErrUnfit), errors.Is(err, errOlder):
			return err
		case !e.joined.IsZero() && time.Since(e.joined) >= settled:
			pause.Reset()
			lost = time.Now()
		case time.Since(lost) > e.service.ClientTimeout:
			return fmt.Errorf("no connection for %v: %w", e.service.ClientTimeout, err)
		}
		e.log.Info("the upper collector is not connected", "error", err)
		e.trouble(ofUpstream, err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// serve carries out instructions until the context ends.
func (e *edge) serve(ctx context.Context) error {
	for {
		select {
		case o := <-e.orders:
			err := o.do(ctx)
			o.done <- err
			var refusal *flower.StatusError
			if err != nil && !errors.As(err, &refusal) && o.asked.Err() == nil {
				return err
			}
		case <-e.service.Ending.Done():
			return context.Cause(e.service.Ending)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pass has the goroutine of the training carry out an instruction.
func (e *edge) pass(asked context.Context, do func(ctx context.Context) error) error {
	o := order{asked: asked, do: do, done: make(chan error, 1)}
	select {
	case e.orders <- o:
	case <-asked.Done():
		return context.Cause(asked)
	}
	select {
	case err := <-o.done:
		return err
	case <-asked.Done():
		return context.Cause(asked)
	}
}

// errOlder is the reason of an edge whose upper server does not mark its instructions.
var errOlder = errors.New("the upper collector does not take the sums of collectors: " +
	"it is of an older version, or what lies between removes the metadata that announces them")

// Properties implements flower.Trainer.
func (e *edge) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return flower.Config{"training_id": e.id}, nil
}

// Parameters implements flower.Trainer: the model of one of the clients.
func (e *edge) Parameters(asked context.Context, _ flower.GetParametersIns) (p flower.Parameters, err error) {
	err = e.pass(asked, func(ctx context.Context) error {
		model, err := e.borrow(ctx)
		if err != nil && ctx.Err() == nil {
			return failed(flower.GetParametersNotImplemented, err)
		}
		p = flower.FromTensors(model...)
		return err
	})
	return p, err
}

// Fit implements flower.Trainer.
func (e *edge) Fit(asked context.Context, ins flower.FitIns) (res *flower.FitRes, err error) {
	number, config, model, err := e.read(ins.Config, ins.Parameters)
	if err != nil {
		return nil, err
	}
	answers := make(chan *flower.FitRes, 1)
	err = e.pass(asked, func(ctx context.Context) error {
		res, err := e.fit(ctx, asked, number, model, config)
		answers <- res
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-answers, nil
}

// Evaluate implements flower.Trainer.
func (e *edge) Evaluate(asked context.Context, ins flower.EvaluateIns) (res *flower.EvaluateRes, err error) {
	number, config, model, err := e.read(ins.Config, ins.Parameters)
	if err != nil {
		return nil, err
	}
	answers := make(chan *flower.EvaluateRes, 1)
	err = e.pass(asked, func(ctx context.Context) error {
		res, err := e.evaluate(ctx, asked, number, model, config)
		answers <- res
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-answers, nil
}

// read returns the number of the round, the configuration for clients, and a copy of the
// model of an instruction.
func (e *edge) read(config flower.Config, p flower.Parameters) (int, flower.Config, strategy.Model, error) {
	number, rest, ok := upstream.Marked(config)
	if !ok {
		return 0, nil, nil, errOlder
	}
	model, err := p.Decode()
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read the model of round %d of the upper collector: %w", number, err)
	}
	owned, err := round.Owned(model)
	return number, rest, owned, err
}

// failed is the answer to an instruction that this edge could not carry out.
func failed(code flower.Code, err error) error {
	return &flower.StatusError{Status: flower.Status{Code: code, Message: excerpt.Reason(err)}}
}

// gather draws the clients of a phase, for as long as the upper server waits.
func (e *edge) gather(ctx, asked context.Context, phase strategy.Phase, number int) (round.Draw, error) {
	waits, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(asked, func() { cancel(context.Cause(asked)) })()
	return e.conductor.Gather(waits, phase, number)
}

// fit has the clients train, and stores the round.
func (e *edge) fit(ctx, asked context.Context, number int, model strategy.Model, config flower.Config) (*flower.FitRes, error) {
	began := time.Now()
	drawn, err := e.gather(ctx, asked, strategy.Fit, number)
	if errors.Is(err, round.ErrInsufficient) {
		return nil, failed(flower.FitNotImplemented, err)
	}
	if err != nil {
		return nil, err
	}
	if err := e.startTraining(); err != nil {
		return nil, err
	}
	e.setRound(number)
	rec := &report.Round{Number: number, Started: Now(), Sampling: drawn.Sampling}
	attempt := audit.NewAttempt(number, e.audit.Chained())
	partial, err := e.conductor.Collect(ctx, round.Start{Number: number, Model: model}, drawn, config, attempt)
	if err != nil {
		e.fileFailed(attempt, err)
		return nil, err
	}
	rec.Aggregated = partial.Partial.Sum != nil
	if !rec.Aggregated {
		model = nil
	}
	filing := e.startFiling(attempt, model) // the model of the upper server is as it was
	rec.Fit, rec.FitMetrics, rec.Updates = partial.Phase, partial.Metrics, filing.updates
	rec.Note = excerpt.Cut(strings.Join(slices.Concat(partial.Notes, rec.Updates.Notes(filing.clients)), "; "), excerpt.MaxNote)
	if err := filing.wait(); err != nil {
		return nil, err
	}
	if err := e.store(ctx, rec, partial.Refused, true); err != nil {
		return nil, err
	}
	e.service.Counter.RoundFinished(*rec, time.Since(began).Seconds(), len(partial.Refused))
	e.log.Info("sum created", "round", number, "aggregated", rec.Aggregated, "results", rec.Fit.Results,
		"failures", rec.Fit.Failures, "note", rec.Note)
	if !rec.Aggregated {
		return nil, failed(flower.FitNotImplemented, errors.New(partial.Notes[len(partial.Notes)-1]))
	}
	return partial.Answer(), nil
}

// evaluate has the clients measure a model, and adds that to the round.
func (e *edge) evaluate(ctx, asked context.Context, number int, model strategy.Model, config flower.Config) (*flower.EvaluateRes, error) {
	if e.conductor.Strategy().Policy().Sample(strategy.Evaluate, 1) == 0 {
		return (&round.Collected{}).Measured(), nil // its clients measure nothing
	}
	drawn, err := e.gather(ctx, asked, strategy.Evaluate, number)
	if errors.Is(err, round.ErrInsufficient) {
		return nil, failed(flower.EvaluateNotImplemented, err)
	}
	if err != nil {
		return nil, err
	}
	partial, err := e.conductor.Measure(ctx, number, model, drawn, config)
	if errors.Is(err, strategy.ErrTooFew) {
		return nil, failed(flower.EvaluateNotImplemented, err)
	}
	if err != nil {
		return nil, err
	}
	rec := e.last
	if rec == nil || rec.Number != number { // this process did not conduct the fit
		return partial.Measured(), nil
	}
	rec.Evaluate, rec.Metrics, rec.Loss = partial.Phase, partial.Metrics, partial.Loss
	notes := slices.Concat([]string{rec.Note}, partial.Notes)
	notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	rec.Note = excerpt.Cut(strings.Join(notes, "; "), excerpt.MaxNote)
	if err := e.store(ctx, rec, partial.Refused, false); err != nil {
		return nil, err
	}
	return partial.Measured(), nil
}

// store stores a round, after its fit and again after its evaluation.
func (e *edge) store(ctx context.Context, rec *report.Round, refused []report.Quarantine, fresh bool) error {
	head := e.audit.Head()
	if e.audit.Chained() {
		rec.Audit = &head
	}
	rec.Ended = Now()
	e.last = rec
	data, err := json.Marshal(rec)
	if err == nil {
		err = e.storage.Insist(ctx, func() error { return e.storage.Put(ctx, RoundKey(e.Record().Token, rec.Number), data) })
	}
	if err != nil {
		return persist.StoppedOr(ctx, fmt.Errorf("store round %d: %w", rec.Number, err))
	}
	return e.save(func(r *Record) {
		// An upper server that was restarted may repeat a round.
		fresh = fresh && rec.Number > r.Round
		r.Round, r.Audit, r.Reported = rec.Number, head, rec.Number // the upper server reports its rounds
		if rec.Loss != nil {
			r.Loss, r.Metrics = rec.Loss, rec.Metrics
		}
		r.quarantine(refused)
		if fresh {
			r.count(*rec)
		}
	})
}
