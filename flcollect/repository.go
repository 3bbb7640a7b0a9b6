package flcollect

import (
	"context"
	"errors"
	"io"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrNoModel is returned by a [Repository] that has no parameters of a model.
var ErrNoModel = errors.New("flcollect: the repository has no parameters of that model")

// ErrNoStrategy is returned by a [Repository] that has no strategy of a name.
var ErrNoStrategy = errors.New("flcollect: no strategy of that name")

// ErrRefused is matched by the error of a [Repository] or an [Orchestrator] that will
// never take what it was given. After any other error the call is repeated.
var ErrRefused = errors.New("flcollect: refused")

// ErrRepository is matched by the error of [Server.Start] where the repository did not say
// whether it has the strategy of the job.
var ErrRepository = errors.New("ask the repository")

// Repository is the FL repository, as far as a [Server] needs it. Its methods are called
// concurrently.
type Repository interface {
	// Store stores a result. It may be called again with the same result after an
	// error or a restart, and then stores it once. That of another run of the same job
	// takes its place beside it. A result of another run whose names are taken is refused.
	Store(ctx context.Context, result Result) error
	// Model returns the initial parameters of a model, or an error that matches
	// [ErrNoModel].
	Model(ctx context.Context, name, version string) (strategy.Model, error)
	// Strategy makes the strategy of that name with the parameters of a job, or returns
	// an error that matches [ErrNoStrategy], or a *strategy.FieldError.
	Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error)
}

// NamedModels is implemented by a [Repository] that knows the names of layers.
type NamedModels interface {
	// NamedModel does what Model does, and returns the names of the layers in their
	// order; nil if they have none.
	NamedModel(ctx context.Context, name, version string) (model strategy.Model, layers []string, err error)
}

// Result is the result of a training.
type Result struct {
	ModelName, ModelVersion string
	// TrainingID is the id of the job, and Run the number of its training among those that
	// were started under the id: 1 for the first, and 0 where that is not known. Each run has
	// a result of its own.
	TrainingID      string
	Run             int64
	ConfigurationID string
	// RunID identifies the run among those of all collectors, also of one that has lost its
	// store and counts anew; empty where that is not known.
	RunID string
	// Rounds is how many rounds were conducted.
	Rounds int
	// FinalLoss is the last aggregated loss; nil if clients evaluated nothing.
	FinalLoss *float64
	// Metrics are the last aggregated evaluation metrics.
	Metrics map[string]float64
	// StrategyConf holds the parameters that were given.
	StrategyConf strategy.Conf
	// Privacy is the privacy loss; nil without differential privacy.
	Privacy *report.Privacy
	// Aggregated is how many rounds have changed the model. Updates sums up the
	// updates of all rounds.
	Aggregated int
	Updates    report.Updates
	// LocalLayers are the layers that stayed at the clients, as the configuration lists
	// them: Weights has only the others. Nil if all were shared.
	LocalLayers []string
	// Weights are the final parameters. Where Encrypted is set, each is a vector of
	// bytes: a message of package ckks.
	Weights   strategy.Model
	Encrypted bool
}

// WriteWeights writes the final parameters as the pickle that existing repositories
// expect: a list of arrays, or Flower's object Parameters if they are encrypted. Elements
// are written as they lie in memory.
func (r Result) WriteWeights(w io.Writer) error {
	if r.Encrypted {
		return tensor.WriteParametersPickle(w, ckks.Type, r.Weights...)
	}
	return tensor.WritePickle(w, r.Weights...)
}
