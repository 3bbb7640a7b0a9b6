package jobconfig

import (
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Config is the configuration of a job: the body of POST /job/config/{id}.
type Config struct {
	// Strategy is "avg", the name of a built-in strategy, or a name in the
	// repository.
	Strategy string
	// ModelName and ModelVersion name the model in the repository.
	ModelName, ModelVersion string
	// AdaptConfig is stored and has no effect: strategies adapt the learning rate.
	AdaptConfig string
	// Rounds is the number of rounds, 1 to [MaxRounds].
	Rounds int
	// RoundTimeout bounds each phase of a round. Zero waits for every client.
	RoundTimeout time.Duration
	// Compression lists the kinds of package compress that are announced to clients, in the
	// member "compression" of every fit instruction; nil adds no member. The server reads
	// updates of every kind, whatever it lists.
	Compression []string
	// Async has the job make versions from the updates of clients of unequal speed,
	// without rounds; nil trains in rounds. Rounds counts the versions, and RoundTimeout
	// bounds the answer of each client.
	Async *Async
	// LocalLayers lists the layers that stay at the clients, by their names or their indices
	// from 0; nil shares all. The model of the job has the others.
	LocalLayers []string
	// SpeedTiers is how many tiers clients have by the time that their fits take, 2 to 100. A
	// round draws its clients from one tier. Zero draws from all of them uniformly.
	SpeedTiers int
	// StrategyConf holds the parameters of the strategy by name, without those
	// that were not given.
	StrategyConf strategy.Conf
	// ClientConf holds the settings for clients. Those of the first element are part
	// of every fit instruction. Values are string, int64, float64 or bool.
	ClientConf []map[string]any
	// Homomorphic holds the parameters with which clients encrypt their updates; nil
	// without encryption. Where it leaves the moduli open, the job takes them, and
	// everything else that is left open, from the keys of its clients. Encrypted
	// updates are averaged, whatever Strategy says, and of StrategyConf only the
	// rules of sampling and failures apply.
	Homomorphic *ckks.Settings
	// DPAdaptive holds the settings of differential privacy with adaptive clipping,
	// as dp.New takes them; nil without differential privacy.
	DPAdaptive strategy.Conf
	// SecAgg holds the settings of secure aggregation; nil without it. The server then
	// knows the sum of the updates of a round, and not the updates.
	SecAgg *secagg.Settings
	// ConfigurationID is the id under which the result is stored.
	ConfigurationID string
	// Stopping ends the training early when an aggregated evaluation metric is
	// greater than its target in Targets.
	Stopping bool
	// Targets holds the targets by the names of metrics.
	Targets map[string]float64
	// Goals holds further targets, which may be reached by falling, and may have to be reached
	// in several rounds in a row. The name "loss" is the aggregated loss. No name is in both.
	Goals map[string]Goal
	// App is the app of the SuperNodes that take part, "publisher/name", whose last
	// version is taken, or "publisher/name==version". Empty means that none take part.
	App string
	// Records is how messages to the app carry a model: [Arrays] or [FitIns]. Empty
	// means Arrays with an App; without one it is empty.
	Records string
}

// The kinds of apps.
const (
	Arrays = "arrays" // of Flower's Message API
	FitIns = "fitins" // with a client_fn
)

// MaxRounds is the greatest number of rounds of a job.
const MaxRounds = 1_000_000

// ErrInvalid is matched by the error of a configuration that no job can have.
var ErrInvalid = errors.New("flcollect: invalid")

// Homomorphic is the name of homomorphic encryption among the privacy mechanisms.
const Homomorphic = "homomorphic"

// SecAgg is the name of secure aggregation among the privacy mechanisms.
const SecAgg = "secagg"

// Averaging is the strategy of jobs whose clients encrypt their updates
// (specification section 4, rule 2).
const Averaging = "FedAvg"

// Aggregator returns the name of the strategy that aggregates the updates.
func (c Config) Aggregator() string {
	if c.Homomorphic != nil {
		return Averaging
	}
	return c.Strategy
}

// Mechanisms returns the names of the privacy mechanisms.
func (c Config) Mechanisms() []string {
	var names []string
	if c.DPAdaptive != nil {
		names = append(names, dp.Mechanism)
	}
	if c.Homomorphic != nil {
		names = append(names, Homomorphic)
	}
	if c.SecAgg != nil {
		names = append(names, SecAgg)
	}
	return names
}

// Check returns the configuration with the defaults of its encryption parameters,
// unless it leaves the moduli open. The error is a *[ckks.FieldError], a
// *[secagg.FieldError], a *[strategy.FieldError], an *[Error] of an asynchronous job, or
// matches [ErrInvalid]. Parameters of the strategy itself
// are checked where the strategy is made.
func (c Config) Check() (Config, error) {
	switch {
	case c.Strategy == "":
		return Config{}, fmt.Errorf("%w: there is no strategy", ErrInvalid)
	case c.Rounds < 1 || c.Rounds > MaxRounds:
		return Config{}, fmt.Errorf("%w: %d rounds, must be 1 to %d", ErrInvalid, c.Rounds, MaxRounds)
	case c.RoundTimeout < 0:
		return Config{}, fmt.Errorf("%w: a round timeout of %v", ErrInvalid, c.RoundTimeout)
	}
	if err := c.checkCompression(); err != nil {
		return Config{}, err
	}
	if err := c.checkLocal(); err != nil {
		return Config{}, err
	}
	if err := c.checkSampling(); err != nil {
		return Config{}, err
	}
	if err := c.checkTargets(); err != nil {
		return Config{}, err
	}
	if faults := c.checkAsync(); len(faults) > 0 {
		return Config{}, &Error{Faults: faults}
	}
	if c.Homomorphic != nil {
		settings, err := completeSettings(*c.Homomorphic)
		if err != nil {
			return Config{}, err
		}
		if _, err := Sampling(c.StrategyConf); err != nil {
			return Config{}, err
		}
		c.Homomorphic = &settings
	}
	if c.DPAdaptive != nil {
		if err := dp.Check(c.Aggregator(), c.DPAdaptive); err != nil {
			return Config{}, err
		}
	}
	if faults := c.rateFaults(); len(faults) > 0 {
		return Config{}, &Error{Faults: faults}
	}
	if c.SecAgg != nil {
		if err := c.checkSecAgg(); err != nil {
			return Config{}, err
		}
	}
	c.Records = c.completeRecords()
	if faults := c.appFaults(); len(faults) > 0 {
		return Config{}, fmt.Errorf("%w: %v", ErrInvalid, faults[0])
	}
	return c, nil
}

// completeSettings returns encryption parameters with their defaults, unless they
// leave the moduli open. The error is a *[ckks.FieldError].
func completeSettings(s ckks.Settings) (ckks.Settings, error) {
	if s.Open() {
		err := s.Check()
		if s.Scheme != "" {
			s.Scheme = "CKKS" // it may be given in any case of letters
		}
		return s, err
	}
	parameters, err := ckks.NewParameters(s)
	if err != nil {
		return s, err
	}
	return parameters.Settings(), nil
}

// Sampling returns the rules of sampling and failures that the parameters of any
// strategy give. The other parameters have no meaning for encrypted updates.
func Sampling(conf strategy.Conf) (strategy.Policy, error) {
	pick := func(names ...string) strategy.Conf {
		picked := strategy.Conf{}
		for _, name := range names {
			if v := conf[name]; v != nil {
				picked[name] = v
			}
		}
		return picked
	}
	mean, err := strategy.New(Averaging, pick("fraction_fit", "fraction_evaluate", "min_fit_clients",
		"min_evaluate_clients", "min_available_clients", "accept_failures"))
	if err != nil {
		return strategy.Policy{}, err
	}
	policy := mean.Policy()
	completion := pick("min_completion_rate_fit", "min_completion_rate_evaluate")
	tolerant, err := strategy.New("FaultTolerantFedAvg", completion)
	if err != nil {
		return strategy.Policy{}, err
	}
	if completion["min_completion_rate_fit"] != nil {
		policy.Fit.MinCompletion = tolerant.Policy().Fit.MinCompletion
	}
	if completion["min_completion_rate_evaluate"] != nil {
		policy.Evaluate.MinCompletion = tolerant.Policy().Evaluate.MinCompletion
	}
	return policy, nil
}
