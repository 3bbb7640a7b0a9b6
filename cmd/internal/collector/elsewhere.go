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

// How long a job waits for a repository elsewhere before it begins: results can
// be kept until the repository is back, and clients have parameters as well. The
// original service never asked the repository for any.
const (
	silence  = 5 * time.Second        // without a byte of an answer
	patience = 10 * time.Second       // with other tries
	pause    = 500 * time.Millisecond // between two of them
)

// elsewhere is a repository that is elsewhere, and may be away. Results are for
// the client itself; what a job needs to begin comes from one with less
// patience.
type elsewhere struct {
	*repository.Client
	hasty    *repository.Client
	patience time.Duration
	log      *slog.Logger
}

func newElsewhere(address, dir string, log *slog.Logger) (*elsewhere, error) {
	client, err := repository.NewClient(repository.ClientConfig{BaseURL: address, Dir: dir, Strategies: loadStrategy})
	if err != nil {
		return nil, err
	}
	hasty, err := repository.NewClient(repository.ClientConfig{BaseURL: address, Dir: dir, Strategies: loadStrategy, Timeout: silence})
	return &elsewhere{Client: client, hasty: hasty, patience: patience, log: log}, err
}

// Strategy implements flcollect.Repository.
func (e *elsewhere) Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	return e.hasty.Strategy(ctx, name, conf)
}

// Model implements flcollect.Repository. A repository that is away has none.
func (e *elsewhere) Model(ctx context.Context, name, version string) (strategy.Model, error) {
	for begin := time.Now(); ; {
		model, err := e.hasty.Model(ctx, name, version)
		if !errors.Is(err, repository.ErrUnavailable) {
			return model, err
		}
		if time.Since(begin) > e.patience {
			e.log.Warn("the repository is away; a client's parameters will have to do", "model", name, "version", version, "error", err)
			return nil, fmt.Errorf("%w: %w", flcollect.ErrNoModel, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}
