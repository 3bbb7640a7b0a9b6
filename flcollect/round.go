package flcollect

import "github.com/iotenablers/enablers/flcollect/internal/round"

// Round is the record of a finished round.
type Round = round.Record

// Phase sums up the fit or the evaluation of a [Round].
type Phase = round.Phase

// Quarantine is an update that was refused.
type Quarantine = round.Quarantine

// MaxQuarantined is how many refused updates a job remembers.
const MaxQuarantined = round.MaxQuarantined

// Privacy is the privacy loss of a training with differential privacy: the guarantee of
// package dp for all models of this run so far. Runs of one job on the same data add up,
// which the server does not account for.
type Privacy = round.Privacy

// Epsilon is a number from 0 on. As JSON it is a number, or the text "infinity" where
// there is no guarantee: JSON has no infinite numbers.
type Epsilon = round.Epsilon
