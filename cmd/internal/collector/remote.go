package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// How long a job waits for another repository before it begins. Longer is not needed:
// results wait until the repository is back, and clients have parameters as well. The
// original service never read parameters from the repository.
const (
	silence  = 5 * time.Second        // without a byte of an answer
	patience = 10 * time.Second       // with other tries
	pause    = 500 * time.Millisecond // between two of them
)

// remote is a repository in another process, which may not answer. Results go through
// Client; what a job needs to begin is read through a client with shorter timeouts.
type remote struct {
	*repository.Client
	quick    *repository.Client
	patience time.Duration
	log      *slog.Logger
}

// newRemote returns a remote for the repository of a configuration, which lacks strategies and
// timeout.
func newRemote(config repository.ClientConfig, log *slog.Logger) (*remote, error) {
	config.Strategies = loadStrategy
	client, err := repository.NewClient(config)
	if err != nil {
		return nil, err
	}
	config.Timeout = silence
	quick, err := repository.NewClient(config)
	return &remote{Client: client, quick: quick, patience: patience, log: log}, err
}

// Strategy implements flcollect.Repository.
func (r *remote) Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	return r.quick.Strategy(ctx, name, conf)
}

// Model implements flcollect.Repository. A repository that does not answer has none.
func (r *remote) Model(ctx context.Context, name, version string) (strategy.Model, error) {
	model, _, err := r.NamedModel(ctx, name, version)
	return model, err
}

// NamedModel implements flcollect.NamedModels.
func (r *remote) NamedModel(ctx context.Context, name, version string) (strategy.Model, []string, error) {
	for begin := time.Now(); ; {
		model, layers, err := r.quick.NamedModel(ctx, name, version)
		if !errors.Is(err, repository.ErrUnavailable) {
			return model, layers, err
		}
		if time.Since(begin) > r.patience {
			r.log.Warn("the repository does not answer; the training begins with the parameters of a client", "model",
				name, "version", version, "error", err)
			return nil, nil, fmt.Errorf("%w: %w", flcollect.ErrNoModel, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}
