package flcollect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// ErrNoModel is returned by a [Repository] that has no parameters of a model.
var ErrNoModel = job.ErrNoModel

// ErrNoStrategy is returned by a [Repository] that has no strategy of a name.
var ErrNoStrategy = job.ErrNoStrategy

// ErrRefused is matched by the error of a [Repository] or an [Orchestrator] that will
// never take what it was given. After any other error the call is repeated.
var ErrRefused = job.ErrRefused

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
	// Strategy creates the strategy of that name with the parameters of a job, or returns
	// an error that matches [ErrNoStrategy], or a *strategy.FieldError.
	Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error)
}

// NamedModels is implemented by a [Repository] that knows the names of layers.
type NamedModels interface {
	// NamedModel does what Model does, and returns the names of the layers in their
	// order; nil if they have none.
	NamedModel(ctx context.Context, name, version string) (model strategy.Model, layers []string, err error)
}

// Orchestrator receives the progress of trainings. Its methods are called concurrently,
// but for one job in order, and again until they return nil or an error that matches
// [ErrRefused].
type Orchestrator interface {
	// RoundDone reports that a round has ended.
	RoundDone(ctx context.Context, round report.RoundDone) error
	// EarlyEnd reports that a target was surpassed. By then the result is stored.
	EarlyEnd(ctx context.Context, end report.EarlyEnd) error
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

// RecordID returns the id under which a repository whose records have no run keeps the
// result: that of the job for its first run, and ID-run-N for others. A job whose own id has that form
// may meet it, and so may a job of another collector: the repository refuses the later of two
// results of one id whose RunID differ.
func (r Result) RecordID() string { return recordID(r.TrainingID, r.Run) }

func recordID(id string, run int64) string {
	if run <= 1 {
		return id
	}
	return id + "-run-" + strconv.FormatInt(run, 10)
}

// loadResult returns the result of a run.
func loadResult(ctx context.Context, blobs storage.Blobs, id string, o job.Outcome, run int64) (Result, error) {
	if o.Checkpoint == nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, ErrNoResult)
	}
	model, _, err := checkpoint.Load(ctx, blobs, o.Checkpoint)
	if err != nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, err)
	}
	config := o.Config.Copy()
	copied := map[string]float64{}
	maps.Copy(copied, o.Metrics)
	result := Result{
		ModelName: config.ModelName, ModelVersion: config.ModelVersion, TrainingID: id, Run: run, ConfigurationID: config.ConfigurationID,
		RunID:  o.Token,
		Rounds: max(o.Round, 0), FinalLoss: o.Loss, Metrics: copied, StrategyConf: config.StrategyConf,
		Privacy: o.Privacy, Aggregated: o.Aggregated, Updates: o.Updates, Weights: model,
		LocalLayers: config.LocalLayers, Encrypted: config.Homomorphic != nil,
	}
	return result, nil
}

// results are the results of jobs, and the models with which they begin, in a repository.
type results struct {
	repository Repository
	blobs      storage.Blobs
}

// model returns a model of the repository, with the names of its layers where it knows them.
func (r results) model(ctx context.Context, config jobconfig.Config) (strategy.Model, []string, error) {
	if named, ok := r.repository.(NamedModels); ok {
		return named.NamedModel(ctx, config.ModelName, config.ModelVersion)
	}
	model, err := r.repository.Model(ctx, config.ModelName, config.ModelVersion)
	return model, nil, err
}

// store stores the result of a run in the repository. It counts as refused, too, if its
// model is lost.
func (r results) store(ctx context.Context, id string, o job.Outcome, run int64) error {
	result, err := loadResult(ctx, r.blobs, id, o, run)
	if err != nil {
		if persist.Lost(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return err
	}
	return r.repository.Store(ctx, result)
}
