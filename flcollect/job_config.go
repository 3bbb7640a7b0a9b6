package flcollect

import "github.com/iotenablers/enablers/flcollect/internal/jobconfig"

// JobConfig is the configuration of a job: the body of POST /job/config/{id}. Its
// MarshalJSON writes the form that [ParseJobConfig] reads.
type JobConfig = jobconfig.Config

// JobAsync has a job train with clients of unequal speed, without rounds.
type JobAsync = jobconfig.Async

// Bounds and defaults of [JobAsync].
const (
	MaxBuffer        = jobconfig.MaxBuffer
	MaxConcurrency   = jobconfig.MaxConcurrency
	MaxStaleness     = jobconfig.MaxStaleness
	DefaultStaleness = jobconfig.DefaultStaleness
)

// JobConfigError reports the faults of a configuration, 1 to 100 [JobConfigFault] in the
// order of the fields.
type JobConfigError = jobconfig.Error

// JobConfigFault is a fault of a configuration with its place and its kind.
type JobConfigFault = jobconfig.Fault

// Bounds of a job.
const (
	// MaxRounds is the greatest number of rounds of a job.
	MaxRounds = jobconfig.MaxRounds
	// MaxID is the greatest length of a job's id in bytes.
	MaxID = jobconfig.MaxID
	// MaxJobConfig is the greatest size of a job's configuration in bytes.
	MaxJobConfig = jobconfig.MaxSize
)

// ParseJobConfig reads the body of POST /job/config/{id} as the specification of the
// training collector has it (section 2). Numbers and truth values may be text, keys
// without a meaning are ignored, and of a key that is there twice the last counts. Of a
// setting for clients that has no defined name the value is kept if it is text, a number
// or a truth value: other values cannot be sent to clients.
//
// The error is a *[JobConfigError] with all faults. A strategy_conf for a built-in
// strategy is checked as strategy.New does, and privacy mechanisms as packages dp, ckks
// and secagg do. There a key without a meaning is a fault: it may be mistyped.
func ParseJobConfig(body []byte) (JobConfig, error) { return jobconfig.Parse(body) }
