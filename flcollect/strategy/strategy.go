package strategy

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Errors of aggregations.
var (
	// ErrQuarantined is matched by the error of an update that was refused for
	// what it holds. The others are not affected.
	ErrQuarantined = errors.New("strategy: update quarantined")
	// ErrTooFew is returned where a rule needs more updates than there are.
	ErrTooFew = errors.New("strategy: too few updates")
	// ErrClosed is returned by an aggregation after Close or Finish.
	ErrClosed = errors.New("strategy: aggregation is closed")
)

// MaxExamples is the greatest number of examples that an update may claim,
// 2^40. A client that claims more would decide the mean alone.
const MaxExamples = 1 << 40

// Model is the parameters of a model, a tensor a layer.
type Model []tensor.Tensor

// Update is what a client answers to a fit instruction.
type Update struct {
	// Client names the client. It is unique in a round.
	Client string
	// Examples is how many examples the client trained with, 1 to [MaxExamples].
	Examples int64
	// Metrics are the client's metrics: float64, int64, uint64, bool, string or []byte.
	Metrics map[string]any
	// Model is the trained model. It is read only until Add returns.
	Model Model
}

// Round is what the aggregation of a round starts from.
type Round struct {
	// Number counts the rounds of a job from 1.
	Number int
	// Model is the model that the clients were sent.
	Model Model
	// Loss is the loss of that model as clients evaluated it; nil where
	// it was not evaluated yet.
	Loss *float64
	// Dir is the folder for files that the aggregation needs. Empty means that
	// of the operating system. They are gone after Close.
	Dir string
	// Memory bounds what rules that look at all updates at once read at a time,
	// in bytes. Zero means 64 MiB.
	Memory int64
}

// Strategy decides how a job samples clients and aggregates what they send.
// One value serves one job; its methods are not called concurrently. What Begin
// returns is, as described there.
type Strategy interface {
	// Policy returns the rules of sampling and failures. It is the same at
	// every call.
	Policy() Policy
	// Configure adds to the configuration that clients are sent in a phase of
	// a round; it may overwrite what is there. Values have the types of
	// Update.Metrics.
	Configure(phase Phase, round int, config map[string]any)
	// Begin starts the aggregation of a round. The caller closes it.
	Begin(round Round) (Aggregation, error)
	// State returns what the strategy carries from round to round, nil if
	// nothing, as after the last Aggregation.Finish. It is stored with the
	// model, so that a job goes on after a restart.
	State() []tensor.Tensor
	// Restore sets what State returned. The error says what does not fit.
	Restore(state []tensor.Tensor) error
}

// Aggregation is the aggregation of one round. Add and Close may be called
// concurrently with every method; Finish is called once, after the last Add.
type Aggregation interface {
	// Add takes in an update. When it returns it does not refer to the update
	// any more, and has changed nothing in it. The error of a bad update
	// matches [ErrQuarantined] and names client, layer and reason; such an
	// update is no part of the result. Any other error ends the round.
	Add(ctx context.Context, update Update) error
	// Finish returns the new model. It has the form of Round.Model and shares
	// no memory with updates. Without updates, or with too few for the rule, the
	// error matches [ErrTooFew]; then the model stays as it was.
	Finish(ctx context.Context) (Model, error)
	// Close releases memory and files. It may be called several times and makes
	// an Add or Finish that runs return with [ErrClosed] or its result.
	Close() error
}

// refuse returns the error of a bad update.
func refuse(client string, format string, args ...any) error {
	return fmt.Errorf("add update of %q: %w: %w", client, ErrQuarantined, fmt.Errorf(format, args...))
}

// Check returns nil if the update has the form of the model and claims a
// possible number of examples, and otherwise an error that matches
// [ErrQuarantined]. Whether the numbers are finite is not looked at.
func Check(update Update, model Model) error {
	switch {
	case update.Examples < 1:
		return refuse(update.Client, "num_examples is %d, less than 1", update.Examples)
	case update.Examples > MaxExamples:
		return refuse(update.Client, "num_examples is %d, more than %d", update.Examples, int64(MaxExamples))
	case len(update.Model) != len(model):
		return refuse(update.Client, "%d tensors, expected %d", len(update.Model), len(model))
	}
	for i, t := range update.Model {
		if err := t.SameForm(model[i]); err != nil {
			return refuse(update.Client, "tensor %d: %w", i, err)
		}
	}
	return nil
}
