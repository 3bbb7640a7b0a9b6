package flcollect

import (
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Config is what a job is to do: the body of POST /job/config/{id}.
type Config struct {
	// Strategy is "avg", the name of a built-in strategy, or a name in the
	// repository.
	Strategy string
	// ModelName and ModelVersion name the model in the repository.
	ModelName, ModelVersion string
	// AdaptConfig is kept and has no effect: strategies adapt the learning rate.
	AdaptConfig string
	// Rounds is the number of rounds, 1 to [MaxRounds].
	Rounds int
	// RoundTimeout bounds each phase of a round. Zero waits for every client.
	RoundTimeout time.Duration
	// StrategyConf holds the parameters that were given, by their names there.
	StrategyConf strategy.Conf
	// ClientConf are the settings for clients. Those of the first are part of
	// every fit instruction. Values are string, int64, float64 or bool.
	ClientConf []map[string]any
	// Homomorphic are the parameters with which clients encrypt their updates; nil
	// if they do not. If it leaves the moduli open, they are those of the clients'
	// keys, and with them what else it leaves open. Encrypted updates are averaged, whatever Strategy says, and of
	// StrategyConf only the rules of sampling and failures count.
	Homomorphic *ckks.Settings
	// DPAdaptive are the settings of differential privacy with adaptive clipping,
	// as dp.New takes them; nil if there is none.
	DPAdaptive strategy.Conf
	// ConfigurationID is the id under which the result is stored.
	ConfigurationID string
	// Stopping has the training end early when an aggregated evaluation metric
	// is greater than its target in Targets.
	Stopping bool
	// Targets are the targets by the names of metrics.
	Targets map[string]float64
}

// MaxRounds is the greatest number of rounds of a job.
const MaxRounds = 1_000_000
