package round

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/internal/tiers"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
)

// ErrInsufficient is matched by the error of a round for which too few clients came.
var ErrInsufficient = errors.New("not enough clients")

// Config configures a [Conductor].
type Config struct {
	// Pool holds the clients of the job, and Reputations their reputations.
	Pool        *Pool
	Reputations *reputation.Table
	// Encryption is how updates are encrypted; nil if they are not. Its fields may
	// change between rounds.
	Encryption *Encryption
	// Masking holds the settings of secure aggregation; nil without it. The clients of a
	// fit are then those that [Masks] reports.
	Masking *secagg.Settings
	// Local are the layers that stay at the clients; nil if all are shared. Its fields may
	// change before the first round.
	Local *Local
	// Speeds are those of the clients, by which the clients of a fit are drawn; nil draws
	// uniformly.
	Speeds *tiers.Speeds
	// ClientConf holds the settings that are part of every fit instruction.
	ClientConf map[string]any
	// Timeout bounds each phase of a round. Zero waits for every client.
	Timeout time.Duration
	// ClientTimeout bounds the wait for enough clients.
	ClientTimeout time.Duration
	// Ending ends, with the cause, when the server is about to end.
	Ending context.Context
	// Converting holds a token for each update that is being converted, over all
	// jobs of the server.
	Converting chan struct{}
	// Dir is the folder for files that a round needs.
	Dir string
	// Tracer makes spans of what clients do. Nil is off.
	Tracer *tracing.Tracer
	// Log takes the failures of clients.
	Log *slog.Logger
}

// Conductor conducts the rounds of a job. It belongs to one goroutine.
type Conductor struct {
	config   Config
	strategy strategy.Strategy
	policy   strategy.Policy
	private  *dp.Adaptive // nil without differential privacy
	spare    *strategy.Spare
}

// NewConductor returns a conductor that uses a strategy.
func NewConductor(config Config, made strategy.Strategy) *Conductor {
	c := &Conductor{config: config, spare: &strategy.Spare{}}
	c.Use(made)
	return c
}

// Use replaces the strategy.
func (c *Conductor) Use(made strategy.Strategy) {
	c.strategy, c.policy = made, made.Policy()
	c.private, _ = made.(*dp.Adaptive)
}

// begin begins the aggregation of a round, whose sum may use spare memory.
func (c *Conductor) begin(start Start, spare *strategy.Spare) (strategy.Aggregation, error) {
	return c.strategy.Begin(strategy.Round{
		Number: start.Number, Model: start.Model, Loss: start.Loss, Dir: c.config.Dir, Spare: spare,
	})
}

// Strategy returns the strategy.
func (c *Conductor) Strategy() strategy.Strategy { return c.strategy }

// Private returns the strategy if it is one with differential privacy, and otherwise nil.
func (c *Conductor) Private() *dp.Adaptive { return c.private }

// Draw holds the clients that were drawn for a phase.
type Draw struct {
	// Clients is nil if the phase does not take place. It may be empty where each client is
	// drawn independently of the others; From is then how many they were drawn from.
	Clients []*Client
	From    int
	// Note says what is notable about them; empty if nothing is.
	Note string
	// Sampling is how they were drawn by speed; nil if they were drawn uniformly.
	Sampling *report.Sampling
}

// Gather waits until there are enough clients, and draws those of a phase.
func (c *Conductor) Gather(ctx context.Context, phase strategy.Phase, round int) (Draw, error) {
	timer := time.NewTimer(c.config.ClientTimeout)
	defer timer.Stop()
	var takes func(*Client) bool
	if c.config.Masking != nil && phase == strategy.Fit {
		takes = Masks
	}
	for {
		d := c.config.Pool.draw(c.policy, phase, round, c.config.Reputations, takes, c.config.Speeds)
		if c.config.Ending.Err() != nil {
			return Draw{}, context.Cause(c.config.Ending)
		}
		if d.Clients != nil || d.need == 0 {
			return d.Draw, nil
		}
		select {
		case <-c.config.Pool.Moved():
		case <-timer.C:
			return Draw{}, fmt.Errorf("%w: %d of %d came within %v", ErrInsufficient, d.have, d.need, c.config.ClientTimeout)
		case <-c.config.Ending.Done():
			return Draw{}, context.Cause(c.config.Ending)
		case <-ctx.Done():
			return Draw{}, context.Cause(ctx)
		}
	}
}
