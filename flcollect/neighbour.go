package flcollect

import (
	"context"
	"errors"
	"io"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// ErrNoModel is returned by a [Repository] that has no parameters of a model.
var ErrNoModel = errors.New("flcollect: the repository has no parameters of that model")

// ErrNoStrategy is returned by a [Repository] that does not know a strategy.
var ErrNoStrategy = errors.New("flcollect: no strategy of that name")

// ErrRefused is matched by the error of a neighbour that will never take what it
// was given; every other error of a neighbour is worth another try.
var ErrRefused = errors.New("flcollect: refused")

// errRepository is matched by the errors of a repository that was asked for a
// strategy.
var errRepository = errors.New("ask the repository")

// Repository is the FL repository, as far as a [Server] needs it. Its methods
// are called concurrently.
type Repository interface {
	// Store keeps a result. It may be called again with the same result after an
	// error or a restart, and then keeps it once.
	Store(ctx context.Context, result Result) error
	// Model returns the initial parameters of a model, or an error that matches
	// [ErrNoModel].
	Model(ctx context.Context, name, version string) (strategy.Model, error)
	// Strategy makes the strategy of that name with the parameters that a job
	// gives, or returns an error that matches [ErrNoStrategy], or a
	// *strategy.FieldError.
	Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error)
}

// Orchestrator is told how trainings go. Its methods are called concurrently,
// but for one job in order, and again until they return nil or an error that
// matches [ErrRefused].
type Orchestrator interface {
	// RoundDone says that a round has ended.
	RoundDone(ctx context.Context, round RoundDone) error
	// EarlyEnd says that a target was surpassed; the result is stored by then.
	EarlyEnd(ctx context.Context, end EarlyEnd) error
}

// Result is what a training leaves.
type Result struct {
	ModelName, ModelVersion string
	// TrainingID is the id of the job.
	TrainingID      string
	ConfigurationID string
	// Rounds is how many rounds were conducted.
	Rounds int
	// FinalLoss is the last aggregated loss; nil if clients evaluated nothing.
	FinalLoss *float64
	// Metrics are the last aggregated evaluation metrics.
	Metrics map[string]float64
	// StrategyConf holds the parameters that were given.
	StrategyConf strategy.Conf
	// Privacy is what was given away; nil without differential privacy.
	Privacy *Privacy
	// Aggregated is how many rounds have changed the model, Updates what became of
	// the updates of all rounds.
	Aggregated int
	Updates    Updates
	// Weights are the final parameters. Those that clients encrypted are vectors
	// of bytes, and Encrypted says so: each is a message of package ckks.
	Weights   strategy.Model
	Encrypted bool
}

// WriteWeights writes the final parameters as the pickle that the original sends:
// a list of arrays, or of encrypted ones Flower's object Parameters. Elements go to
// w as they lie in memory.
func (r Result) WriteWeights(w io.Writer) error {
	if r.Encrypted {
		return tensor.WriteParametersPickle(w, ckks.Type, r.Weights...)
	}
	return tensor.WritePickle(w, r.Weights...)
}

// RoundDone is the news of a round.
type RoundDone struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	Round        int    `json:"round"`
}

// EarlyEnd is the news that a metric was greater than its target.
type EarlyEnd struct {
	ModelName    string  `json:"model_name"`
	ModelVersion string  `json:"model_version"`
	Round        int     `json:"round"`
	Metric       string  `json:"metric"`
	Value        float64 `json:"value_achieved"`
	Target       float64 `json:"value_maximal"`
}
