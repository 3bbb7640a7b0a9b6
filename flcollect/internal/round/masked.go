package round

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// masked is a fit phase with secure aggregation that is under way.
type masked struct {
	*Conductor
	start    Start
	settings secagg.Settings
	fitins   record.Dict // what clients are sent beside the values of the stage in which they train
	model    int64       // bytes of the model
	members  map[uint64]*member
	tally    *tally
}

// member is a client in a masked fit phase.
type member struct {
	*Client
	session Exchanger
	part    *audit.Part
	// What the client reported beside its masked vector.
	report strategy.Report
	odd    error // what was wrong with it
}

// collectMasked has the drawn clients train the model, and adds the mean of their masked
// updates to the aggregation, as one update. A round of the protocol that fails adds
// nothing, and is noted.
func (c *Conductor) collectMasked(ctx context.Context, start Start, drawn Draw, config map[string]any,
	sums strategy.Aggregation, attempt *audit.Attempt) (*tally, error) {
	m := &masked{Conductor: c, start: start, settings: *c.config.Masking, members: map[uint64]*member{}, tally: &tally{round: start.Number}}
	ins := flower.FitIns{Parameters: flower.FromTensors(start.Model...), Config: config}
	var err error
	if m.fitins, err = fitIns(ins); err != nil {
		return nil, fmt.Errorf("fit of round %d: %w", start.Number, err)
	}
	m.model = length(ins.Parameters)
	for _, client := range drawn.Clients {
		part := attempt.Add(client.Identity, client.Peer.Label(), client.Name())
		session := client.Session.(Exchanger) // the others were not drawn
		m.members[session.Node()] = &member{Client: client, session: session, part: part}
	}
	attempt.Send(start.Digest, ins.Parameters)
	m.tally.Phase.Clients = len(drawn.Clients)
	m.tally.note(drawn.Note)
	began := time.Now()
	result, failed := m.run(ctx)
	m.tally.Phase.Seconds = time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.config.Ending.Err() != nil:
		return nil, context.Cause(c.config.Ending) // clients that were sent away did not fail
	case failed == nil:
		failed = m.add(ctx, sums, result)
	}
	var fatal *fatalError
	if errors.As(failed, &fatal) {
		return nil, fmt.Errorf("fit of round %d: %w", start.Number, fatal.error)
	}
	m.count(result, failed)
	return m.tally, nil
}

// run runs the stages of the protocol.
func (m *masked) run(ctx context.Context) (secagg.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.config.Ending, func() { cancel(context.Cause(m.config.Ending)) })()
	shapes := make([][]int, len(m.start.Model))
	for i, layer := range m.start.Model {
		shapes[i] = layer.Shape()
	}
	config := m.settings.Config(slices.Sorted(maps.Keys(m.members)), shapes, m.exchange)
	if config.StageTimeout == 0 {
		config.StageTimeout = m.Conductor.config.Timeout
	}
	if len(m.members) < m.tally.Phase.Clients {
		return secagg.Result{}, errors.New("several clients have one number")
	}
	if err := m.settings.CheckClients(len(m.members)); err != nil {
		return secagg.Result{}, err
	}
	made, err := secagg.New(config)
	if err != nil {
		return secagg.Result{}, err
	}
	return made.Run(ctx)
}

// add adds the mean of the updates to the aggregation.
func (m *masked) add(ctx context.Context, sums strategy.Aggregation, result secagg.Result) error {
	mean, err := fromMean(result.Mean, m.start.Model)
	if err != nil {
		return err
	}
	err = sums.Add(ctx, strategy.Update{
		Client: "the mean of the masked updates", Examples: max(1, int64(math.Round(result.Weight))), Model: mean,
	})
	if err != nil && !errors.Is(err, strategy.ErrQuarantined) {
		err = &fatalError{fmt.Errorf("add the mean of the masked updates: %w", err)}
	}
	return err
}

// count counts the clients, and notes what became of them.
func (m *masked) count(result secagg.Result, failed error) {
	failures := map[uint64]error{} // the first of each client
	blameless := map[uint64]bool{}
	for _, f := range result.Failures {
		if failures[f.Client] == nil {
			failures[f.Client] = fmt.Errorf("stage %s: %w", f.Stage, f.Err)
			blameless[f.Client] = errors.Is(f.Err, secagg.ErrLeftOut)
		}
	}
	y := m.tally
	if failed != nil {
		failed = fmt.Errorf("the secure aggregation failed: %w", failed)
		y.note("fit: " + excerpt.Reason(failed))
	}
	var first string
	lost, late := 0, 0
	for _, id := range slices.Sorted(maps.Keys(m.members)) {
		c, err := m.members[id], failures[id]
		if err != nil {
			m.config.Log.Info("client failed", "round", m.start.Number, "phase", strategy.Fit,
				"client", excerpt.Client(c.Name()), "error", excerpt.Reason(err))
		}
		switch {
		case failed == nil && slices.Contains(result.Clients, id):
			if err != nil {
				late++
			}
			m.keep(c, err)
			continue
		case err == nil: // it did its part in a round that failed
			c.part.LeftOut(failed)
		case blameless[id]:
			c.part.LeftOut(err)
		default:
			c.part.Answered(err)
		}
		y.Phase.Failures++
		if err != nil {
			if lost++; lost == 1 {
				first = fmt.Sprintf("%q: %s", excerpt.Client(c.Name()), excerpt.Reason(err))
			}
		}
	}
	if lost > 0 {
		y.note(fmt.Sprintf("fit: %d of %d clients dropped out, the first: %s", lost, len(m.members), first))
	}
	if late > 0 {
		y.note(fmt.Sprintf("fit: %d clients failed after their updates had been added, which are part of the mean", late))
	}
	if failed == nil {
		y.Notes = append(y.Notes, m.precision(result)...)
	}
}

// keep counts a client whose update is part of the mean. The error is what went wrong
// later, nil if nothing did.
func (m *masked) keep(c *member, late error) {
	m.tally.Phase.Results++
	c.part.Answered(nil)
	switch {
	case late != nil:
		c.part.Faulted(late)
	case c.odd != nil:
		c.part.Faulted(c.odd)
	default:
		m.tally.reports = append(m.tally.reports, c.report)
	}
}
