package strategy

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Errors of aggregations.
var (
	// ErrQuarantined matches the error of an update that was refused because of
	// its contents. Other updates are not affected.
	ErrQuarantined = errors.New("strategy: update quarantined")
	// ErrTooFew is returned when a rule needs more updates than there are.
	ErrTooFew = errors.New("strategy: too few updates")
	// ErrClosed is returned by an aggregation after Close or Finish.
	ErrClosed = errors.New("strategy: aggregation is closed")
)

// MaxExamples is the largest number of examples that an update may report,
// 2^40. A client with more would determine the mean alone.
const MaxExamples = 1 << 40

// Model is the parameters of a model, a tensor a layer.
type Model []tensor.Tensor

// Update is the answer of a client to a fit instruction.
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

// Round is the input of the aggregation of a round.
type Round struct {
	// Number counts the rounds of a job from 1.
	Number int
	// Model is the model that the clients were sent.
	Model Model
	// Loss is the loss of that model as clients evaluated it; nil where
	// it was not evaluated yet.
	Loss *float64
	// Dir is the folder for temporary files of the aggregation. Empty means that
	// of the operating system. Close removes the files.
	Dir string
	// Memory bounds how many bytes rules that need all updates read at a time.
	// Zero means 64 MiB.
	Memory int64
	// Spare is memory that sums of the job's rounds use one after the other, see
	// [Round.NewSum]. Nil means that each sum allocates its own.
	Spare *Spare
}

// Strategy decides how a job samples clients and aggregates what they send. One
// value serves one job; its methods are not called concurrently. The methods of
// an [Aggregation] are.
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
	// State returns the state that the strategy carries from round to round, as of
	// the last Aggregation.Finish, or nil. It is stored with the model, so that a
	// job continues after a restart.
	State() []tensor.Tensor
	// Restore sets a state that State returned. It returns an error if the state
	// does not fit.
	Restore(state []tensor.Tensor) error
}

// Aggregation is the aggregation of one round. Add and Close may be called
// concurrently with every method; Finish is called once, after the last Add.
type Aggregation interface {
	// Add adds an update. It does not change the update and does not refer to it
	// after it returns. The error of a bad update matches [ErrQuarantined] and
	// names client, layer and reason; such an update is no part of the result. Any
	// other error ends the round.
	Add(ctx context.Context, update Update) error
	// Finish returns the new model. It has the form of Round.Model and shares
	// no memory with updates. Without updates, or with too few for the rule, the
	// error matches [ErrTooFew]; then the model stays as it was.
	Finish(ctx context.Context) (Model, error)
	// Close releases memory and files. It may be called several times. A running
	// Add or Finish returns [ErrClosed] or its result.
	Close() error
}

// refuse returns the error of a bad update.
func refuse(client string, format string, args ...any) error {
	return fmt.Errorf("add update of %q: %w: %w", client, ErrQuarantined, fmt.Errorf(format, args...))
}

// Check returns nil if the update has the form of the model and a valid number
// of examples, and otherwise an error that matches [ErrQuarantined]. It does
// not check whether the numbers are finite.
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
