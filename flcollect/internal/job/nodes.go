package job

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	records "github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// NewFleetRun draws the number of a run for SuperNodes.
func NewFleetRun() uint64 {
	for {
		var data [8]byte
		rand.Read(data[:]) // does not fail
		if id := binary.BigEndian.Uint64(data[:]) >> 1; id > 0 {
			return id
		}
	}
}

// errNoFleet is the trouble of a job with an app that a server goes on with which has no
// listener for SuperNodes any more.
var errNoFleet = errors.New("no SuperNode can take part: this server has no listener for them")

// openRun has SuperNodes join the job, if its configuration has an app. A run that cannot
// be opened shows in the status: other clients may go on without.
func (t *training) openRun() {
	r := t.Record()
	fleet := t.service.Fleet
	if t.config.App == "" || t.run != nil {
		return
	}
	err := errNoFleet
	if fleet != nil {
		config := supernode.RunConfig{ID: r.FleetRun, App: t.config.App, Records: supernode.Records(t.config.Records)}
		if config.Records == supernode.Arrays {
			config.Names = round.Shared(r.Local, r.Layers)
			if r.Local != nil {
				config.Whole = r.Layers
			}
		}
		t.run, err = fleet.OpenRun(config)
	}
	t.trouble(ofFleet, err)
	if err != nil {
		t.log.Warn("SuperNodes cannot take part", "app", t.config.App, "error", err)
		return
	}
	t.log.Info("SuperNodes take part", "app", t.run.App().String(), "records", t.config.Records)
	t.setNodes(t.run)
	t.service.Observer.Offered()
}

// closeRun has the job accept no more SuperNodes, which then wait for another job.
func (t *training) closeRun() {
	if t.run != nil {
		t.setNodes(nil)
		t.run.Close()
		t.run = nil
	}
	t.trouble(ofFleet, nil)
}

// setRound says to SuperNodes which round begins.
func (t *training) setRound(number int) {
	if t.run != nil {
		t.run.SetRound(number)
	}
}

// borrowing says why a job with an app of the Message API has no model to begin with; nil
// where SuperNodes are asked for theirs.
func (t *training) borrowing() error {
	if t.config.App == "" || t.config.Records != jobconfig.Arrays {
		return nil
	}
	return fmt.Errorf("there is no model %q of version %q to begin with, and apps of the Message API have none to give: "+
		"the server needs it in the folder of its models or in the repository, or a client of start_client that has one",
		t.config.ModelName, t.config.ModelVersion)
}

// masker is the place of a SuperNode in the run of a job. Unlike a stream of start_client it
// can take part in secure aggregation: it is a [round.Exchanger].
type masker struct{ *supernode.Member }

// Node returns the number of the SuperNode, by which the others know it.
func (m masker) Node() uint64 { return m.Member.Node().ID() }

// Exchange implements [round.Exchanger].
func (m masker) Exchange(ctx context.Context, messageType string, content records.Dict) (records.Dict, func(), error) {
	reply, err := m.Member.Exchange(ctx, messageType, content)
	if err != nil {
		return nil, nil, err
	}
	return reply.Content, reply.Release, nil
}
