package secagg

import (
	"fmt"
	"math"
	"time"
)

// Settings are the parameters of the rounds of a job, with the names, and where no
// other is said the defaults, of Flower's SecAggPlusWorkflow. The zero value stands for
// the defaults.
type Settings struct {
	// NumShares is [Config.Shares]: a whole number from 3 of clients, or, up to 1, a
	// fraction of the clients of a round, which is rounded, raised to an odd number, and
	// to all of them where it is less than 3. More than the clients of a round are as
	// many as there are. Zero means 31; Flower has no default.
	NumShares float64 `json:"num_shares,omitzero"`
	// ReconstructionThreshold is [Config.Threshold]: a whole number from 2, less than a
	// whole NumShares, or, up to 1, a fraction of the shares, which is rounded, and
	// raised to 2. Zero means two thirds; Flower has no default.
	ReconstructionThreshold float64 `json:"reconstruction_threshold,omitzero"`
	// MaxWeight is [Config.MaxWeight], in examples. Zero means 1000.
	MaxWeight float64 `json:"max_weight,omitzero"`
	// ClippingRange is [Config.ClippingRange]. Zero means 8.
	ClippingRange float64 `json:"clipping_range,omitzero"`
	// QuantizationRange is [Config.QuantizationRange]. Zero means 2^22.
	QuantizationRange int64 `json:"quantization_range,omitzero"`
	// ModulusRange is [Config.ModulusRange]. Zero means 2^32.
	ModulusRange int64 `json:"modulus_range,omitzero"`
	// Timeout bounds the time of each stage, in seconds, up to a year. Zero means no
	// bound.
	Timeout float64 `json:"timeout,omitzero"`
}

// FieldError is the error of one setting.
type FieldError struct {
	// Field is its name in the REST interface; empty for the settings as a whole.
	Field string
	// Reason is what is wrong with it.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return "secagg: " + e.Reason
	}
	return fmt.Sprintf("secagg: %s: %s", e.Field, e.Reason)
}

func fail(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// maxTimeout is the greatest timeout in seconds.
const maxTimeout = 365 * 24 * 3600

// whole reports whether a number of shares counts clients, and is no fraction.
func whole(v float64) bool { return v > 1 }

// Check returns nil for settings with which rounds can be run, and otherwise a
// *[FieldError].
func (s Settings) Check() error {
	switch v := s.NumShares; {
	case v < 0 || math.IsNaN(v):
		return fail("num_shares", "%v is not greater than 0", v)
	case whole(v) && (v != math.Trunc(v) || v < 3 || v > maxShares):
		return fail("num_shares", "%v is neither a fraction up to 1 nor a whole number from 3 to %d", v, maxShares)
	}
	switch v := s.ReconstructionThreshold; {
	case v < 0 || math.IsNaN(v):
		return fail("reconstruction_threshold", "%v is not greater than 0", v)
	case whole(v) && (v != math.Trunc(v) || v > maxShares):
		return fail("reconstruction_threshold", "%v is neither a fraction up to 1 nor a whole number from 2 to %d", v, maxShares)
	case whole(v) && whole(s.NumShares) && v >= s.NumShares:
		return fail("reconstruction_threshold", "%v is not less than num_shares, %v", v, s.NumShares)
	}
	return s.checkRanges()
}

func (s Settings) checkRanges() error {
	switch {
	case s.MaxWeight < 0 || unbounded(s.MaxWeight):
		return fail("max_weight", "%v is not a finite number greater than 0", s.MaxWeight)
	case s.ClippingRange < 0 || unbounded(2*s.ClippingRange):
		return fail("clipping_range", "%v is not a finite number greater than 0", s.ClippingRange)
	case s.QuantizationRange < 0 || s.QuantizationRange > math.MaxInt32:
		return fail("quantization_range", "%d is not from 1 to %d", s.QuantizationRange, math.MaxInt32)
	case s.ModulusRange < 0 || s.ModulusRange > 1<<62 || s.ModulusRange&(s.ModulusRange-1) != 0:
		return fail("modulus_range", "%d is not a power of 2 up to 2^62", s.ModulusRange)
	case s.Timeout < 0 || math.IsNaN(s.Timeout) || s.Timeout > maxTimeout:
		return fail("timeout", "%v is not from 0 to %d seconds", s.Timeout, maxTimeout)
	}
	return nil
}

func unbounded(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// CheckClients returns nil if a round with so many clients can be run with settings that
// are valid, and otherwise a *[FieldError].
func (s Settings) CheckClients(n int) error {
	c := s.Config(make([]uint64, n), nil, nil)
	c.fillDefaults()
	switch {
	case n < 2 || n > maxClients:
		return fail("", "a round of %d clients is not possible, from 2 to %d are needed", n, maxClients)
	case c.Shares > maxShares:
		return fail("num_shares", "%v of %d clients is more than %d", s.NumShares, n, maxShares)
	case c.Threshold > c.Shares:
		return fail("reconstruction_threshold", "%d is more than the %d shares in a round of %d clients", c.Threshold, c.Shares, n)
	case c.ModulusRange <= c.QuantizationRange*int64(n): // at most 2^31 times 2^16
		return fail("modulus_range", "%d cannot hold the sum of %d clients with a quantization_range of %d",
			c.ModulusRange, n, c.QuantizationRange)
	}
	return nil
}

// Complete returns the settings with their defaults, except for the shares and the
// threshold, which depend on the clients.
func (s Settings) Complete() Settings {
	set(&s.MaxWeight, defaultMaxWeight)
	set(&s.ClippingRange, defaultClipping)
	set(&s.QuantizationRange, defaultQuantization)
	set(&s.ModulusRange, defaultModulus)
	return s
}

// Config returns the configuration of a round with the clients.
func (s Settings) Config(clients []uint64, shapes [][]int, exchange Exchange) Config {
	c := Config{
		Clients: clients, Shapes: shapes, Exchange: exchange,
		MaxWeight: s.MaxWeight, ClippingRange: s.ClippingRange,
		QuantizationRange: s.QuantizationRange, ModulusRange: s.ModulusRange,
		StageTimeout: time.Duration(s.Timeout * float64(time.Second)),
	}
	switch n := len(clients); {
	case whole(s.NumShares):
		c.Shares = int(s.NumShares)
	case s.NumShares > 0:
		if c.Shares = int(math.RoundToEven(s.NumShares * float64(n))); c.Shares < 3 {
			c.Shares = n
		}
	}
	switch counted := c; {
	case whole(s.ReconstructionThreshold):
		c.Threshold = int(s.ReconstructionThreshold)
	case s.ReconstructionThreshold > 0:
		counted.fillDefaults()
		c.Threshold = max(2, int(math.RoundToEven(s.ReconstructionThreshold*float64(counted.Shares))))
	}
	return c
}
