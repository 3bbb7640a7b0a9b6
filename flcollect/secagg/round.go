package secagg

import (
	"context"
	"crypto/ecdh"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrTooFew is matched by the error of a round in which too few clients remain.
var ErrTooFew = errors.New("secagg: too few clients")

// ErrProtocol is matched by the error of a round whose sum cannot be unmasked,
// because a client did not keep to the protocol.
var ErrProtocol = errors.New("secagg: the protocol was violated")

// ErrLeftOut is matched by the [Failure] of a client that did nothing wrong: too few of
// its neighbours remain.
var ErrLeftOut = errors.New("too few neighbours")

// errSilent is the failure of clients that did not answer.
var errSilent = errors.New("no answer in time")

// Result is what came out of a round.
type Result struct {
	// Mean is the mean of the updates, weighted by examples: 64-bit
	// floating-point numbers in the shapes of the model. It is nil after an error.
	Mean []tensor.Tensor

	// Weight is the sum of the clients' examples, up to the rounding of each to
	// MaxWeight/QuantizationRange.
	Weight float64

	// Overweight means that the clients have more examples together than
	// MaxWeight each, so updates may have been clipped that were in the range.
	Overweight bool

	// Step bounds how far quantization moved each number of the mean, where
	// nothing was clipped.
	Step float64

	// Clients are those whose updates are in the mean, in ascending order.
	Clients []uint64

	// Failures are the clients that dropped out or answered wrongly, by stage and
	// client. Those of [StageUnmask] are in the mean nevertheless.
	Failures []Failure
}

// Failure says why a client's answer was not used.
type Failure struct {
	Client uint64
	Stage  Stage
	Err    error
}

// Round is one round of SecAgg+ on the side of the server. Make one with [New].
type Round struct {
	config     Config
	neighbours map[uint64][]uint64 // with themselves
	keys       map[uint64]publicKeys
	forwards   map[uint64]*forward
	sharers    map[uint64]bool // whose shares were forwarded
	sum        sum
	result     Result
}

// publicKeys are what a client sends in the first stage.
type publicKeys struct {
	mask               *ecdh.PublicKey
	maskPEM, cipherPEM []byte
}

// forward is what is forwarded to a client: ciphertexts and their senders.
type forward struct {
	sources     []uint64
	ciphertexts [][]byte
}

// New returns a round with the clients of a configuration. Errors match
// [ErrConfig].
func New(config Config) (*Round, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	return &Round{config: config}, nil
}

// Run runs the round with new neighbours and returns its result. Errors match
// [ErrTooFew] where clients dropped out, [ErrProtocol] where the sum cannot be
// unmasked, or are those of the context or of the exchange; the result then has
// the failures up to that point. One call runs at a time.
func (r *Round) Run(ctx context.Context) (Result, error) {
	*r = Round{config: r.config, neighbours: ring(r.config.Clients, r.config.Shares)}
	active := r.config.Clients
	for _, stage := range []func(context.Context, []uint64) ([]uint64, error){r.setup, r.share, r.collect} {
		var err error
		if active, err = stage(ctx, active); err != nil {
			return r.failed(), err
		}
	}
	err := r.unmask(ctx, active)
	r.result.Clients = active
	if err == nil {
		r.result.Mean, r.result.Weight, err = r.dequantize(r.sum, len(active))
	}
	if err != nil {
		return r.failed(), err
	}
	levels, clients := float64(r.config.QuantizationRange), float64(len(active))
	r.result.Step = 2 * r.config.ClippingRange * clients / r.result.Weight
	r.result.Overweight = r.result.Weight > levels*clients
	r.result.Weight *= r.config.MaxWeight / levels
	r.sum = nil
	return r.result, nil
}

// failed returns the result of a round that ends with an error.
func (r *Round) failed() Result {
	failures := r.result.Failures
	r.sum, r.forwards = nil, nil
	return Result{Failures: failures}
}

// fail records that a client's answer is not used.
func (r *Round) fail(stage Stage, client uint64, err error) {
	r.result.Failures = append(r.result.Failures, Failure{Client: client, Stage: stage, Err: err})
}

// ask sends the requests of a stage and calls accept with the answers, one at
// a time. It returns the clients whose answers were accepted, in ascending order.
func (r *Round) ask(ctx context.Context, stage Stage, requests map[uint64]Values,
	accept func(client uint64, answer Values) error) ([]uint64, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.config.StageTimeout > 0 {
		limited, cancel = context.WithTimeout(ctx, r.config.StageTimeout)
	}
	defer cancel()
	var mutex sync.Mutex
	var accepted []uint64
	failures := map[uint64]error{}
	pending := make(map[uint64]bool, len(requests))
	for client := range requests {
		pending[client] = true
	}
	err := r.config.Exchange(limited, stage, requests, func(client uint64, answer Values, err error) {
		mutex.Lock()
		defer mutex.Unlock()
		if !pending[client] {
			return
		}
		delete(pending, client)
		if err == nil {
			err = accept(client, answer)
		}
		if err != nil {
			failures[client] = err
			return
		}
		accepted = append(accepted, client)
	})
	mutex.Lock()
	defer mutex.Unlock()
	for client := range pending {
		failures[client] = errSilent
	}
	clear(pending) // replies that come later are ignored
	for _, client := range slices.Sorted(maps.Keys(failures)) {
		r.fail(stage, client, failures[client])
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("secagg: stage %s: %w", stage, context.Cause(ctx))
	}
	if err != nil && limited.Err() == nil {
		return nil, fmt.Errorf("secagg: stage %s: %w", stage, err)
	}
	slices.Sort(accepted)
	return accepted, nil
}

// prune leaves out clients until each has as many active neighbours as the
// threshold, and returns the rest.
func (r *Round) prune(stage Stage, active []uint64) ([]uint64, error) {
	alive := members(active)
	for again := true; again; {
		again = false
		for _, client := range active {
			n := overlap(r.neighbours[client], alive)
			if alive[client] && n < r.config.Threshold {
				delete(alive, client)
				again = true
				r.fail(stage, client, fmt.Errorf("%w: %d of its %d neighbours remain; %d are needed",
					ErrLeftOut, n, len(r.neighbours[client]), r.config.Threshold))
			}
		}
	}
	rest := slices.Sorted(maps.Keys(alive))
	return rest, r.enough(stage, len(rest))
}

// enough returns nil if so many clients may be aggregated.
func (r *Round) enough(stage Stage, clients int) error {
	if clients < r.config.MinClients {
		return fmt.Errorf("%w: stage %s: %d of %d clients remain; %d are needed",
			ErrTooFew, stage, clients, len(r.config.Clients), r.config.MinClients)
	}
	return nil
}

func members(clients []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(clients))
	for _, client := range clients {
		set[client] = true
	}
	return set
}

func overlap(clients []uint64, set map[uint64]bool) int {
	n := 0
	for _, client := range clients {
		if set[client] {
			n++
		}
	}
	return n
}

// within returns the clients for which the condition holds.
func within(clients []uint64, holds func(uint64) bool) []uint64 {
	chosen := make([]uint64, 0, len(clients))
	for _, client := range clients {
		if holds(client) {
			chosen = append(chosen, client)
		}
	}
	return chosen
}
