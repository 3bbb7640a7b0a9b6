package secagg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// The bounds of a round.
const (
	maxClients = 1 << 16
	maxShares  = 1<<10 - 1
	maxNumbers = 1<<31 - 1 // of a model
	maxArrays  = 1 << 16
)

// The defaults of a round. Those of the ranges and of the weight are Flower's.
const (
	defaultShares       = 31
	defaultMaxWeight    = 1000
	defaultClipping     = 8
	defaultQuantization = 1 << 22
	defaultModulus      = 1 << 32
)

// ErrConfig is matched by errors about a [Config].
var ErrConfig = errors.New("secagg: bad configuration")

// Exchange sends every client its request and calls reply with each answer, or
// with the error that took its place. It returns when all clients have answered
// or failed, or soon after ctx is done; clients without a reply then count as
// dropped out. An error other than that of ctx ends the round. It may call reply
// from several goroutines. Replies of clients that were not asked, second
// replies and replies after its return are ignored. The values of a reply are kept,
// and must not be changed, except those of [StageCollect], which are not used after
// reply has returned.
//
// For [StageCollect] the exchange adds the instructions of the training: the
// model and its configuration. The clients train in that stage.
type Exchange func(ctx context.Context, stage Stage, requests map[uint64]Values,
	reply func(client uint64, answer Values, err error)) error

// Config describes one round. The zero value of a field that is not required
// means its default.
type Config struct {
	// Clients are the identifiers of those that take part: from 2 to 65,536, each
	// once. Required.
	Clients []uint64

	// Shapes are the shapes of the model's arrays, in order; without axes an array
	// is a single number. All arrays together have fewer than 2^31 numbers. Required.
	Shapes [][]int

	// Exchange reaches the clients. Required.
	Exchange Exchange

	// Shares is the number of clients, itself included, among which each client
	// divides its secrets, and with which it has pair masks: 3 to 1,023; the
	// number of clients if that is less. It is raised to an odd number. More shares bear more
	// dropouts and cost every client the computation of one more mask each. The
	// default is 31.
	Shares int

	// Threshold is the number of shares that restore a secret, from 2 to Shares.
	// More make it harder for clients that work together with the server to unmask
	// another; fewer bear more dropouts. The default is two thirds of the shares,
	// rounded to the nearest.
	Threshold int

	// MinClients is the least number of clients in the mean: 2 or more. The
	// default is the threshold.
	MinClients int

	// MaxWeight is the weight, in examples, at which a client's weight is 1 in the
	// sums. Heavier clients count with their weight, but their numbers are clipped
	// more often; for lighter ones the rounding is coarser. The default is 1000.
	MaxWeight float64

	// ClippingRange bounds each number of an update times its weight: it is
	// clipped to the range from -ClippingRange to ClippingRange. The default is 8.
	ClippingRange float64

	// QuantizationRange is the number of steps of that range. The default is 2^22.
	QuantizationRange int64

	// ModulusRange is the modulus of the sums, a power of 2 up to 2^62, and greater than
	// QuantizationRange times the number of clients. Up to 2^32 the sums take four
	// bytes a number, beyond it eight. The default is 2^32.
	ModulusRange int64

	// StageTimeout bounds the time of each stage; clients that have not answered
	// by then have dropped out. Without it the exchange decides.
	StageTimeout time.Duration
}

// complete returns the configuration with its defaults, or an error that
// matches ErrConfig.
func (c Config) complete() (Config, error) {
	c.Clients = slices.Clone(c.Clients)
	if err := c.checkClients(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c.fillDefaults()
	for _, check := range []func() error{c.checkShapes, c.checkShares, c.checkRanges} {
		if err := check(); err != nil {
			return c, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	return c, nil
}

func (c *Config) fillDefaults() {
	set(&c.Shares, defaultShares)
	if c.Shares >= len(c.Clients) {
		c.Shares = len(c.Clients)
	} else if c.Shares > 0 {
		c.Shares |= 1
	}
	c.Shares = min(c.Shares, len(c.Clients))
	set(&c.Threshold, max(2, (2*c.Shares+1)/3))
	set(&c.MinClients, c.Threshold)
	set(&c.MaxWeight, defaultMaxWeight)
	set(&c.ClippingRange, defaultClipping)
	set(&c.QuantizationRange, defaultQuantization)
	set(&c.ModulusRange, defaultModulus)
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *Config) checkClients() error {
	if c.Exchange == nil {
		return errors.New("field Exchange: is missing")
	}
	if n := len(c.Clients); n < 2 || n > maxClients {
		return fmt.Errorf("field Clients: %d; from 2 to %d are needed", n, maxClients)
	}
	slices.Sort(c.Clients)
	for i, id := range c.Clients[1:] {
		if id == c.Clients[i] {
			return fmt.Errorf("field Clients: %d is there twice", id)
		}
	}
	return nil
}

func (c *Config) checkShapes() error {
	if n := len(c.Shapes); n == 0 || n > maxArrays {
		return fmt.Errorf("field Shapes: %d arrays; from 1 to %d are needed", n, maxArrays)
	}
	total := uint64(0)
	for i, shape := range c.Shapes {
		size := uint64(1)
		for _, axis := range shape {
			if axis < 0 {
				return fmt.Errorf("field Shapes: array %d has an axis of %d", i, axis)
			}
			high, low := bits.Mul64(size, uint64(axis))
			if high != 0 || low > maxNumbers {
				return fmt.Errorf("field Shapes: array %d has more than %d numbers", i, maxNumbers)
			}
			size = low
		}
		if total += size; total > maxNumbers {
			return fmt.Errorf("field Shapes: the arrays have more than %d numbers", maxNumbers)
		}
	}
	if total == 0 {
		return errors.New("field Shapes: the arrays have no numbers")
	}
	return nil
}

func (c *Config) checkShares() error {
	switch {
	case c.Shares < 2 || c.Shares > maxShares:
		return fmt.Errorf("field Shares: %d is not from 3 to %d", c.Shares, maxShares)
	case c.Threshold < 2 || c.Threshold > c.Shares:
		return fmt.Errorf("field Threshold: %d is not from 2 to the %d shares of each client", c.Threshold, c.Shares)
	case c.MinClients < 2 || c.MinClients > len(c.Clients):
		return fmt.Errorf("field MinClients: %d is not from 2 to the %d clients", c.MinClients, len(c.Clients))
	}
	return nil
}

func (c *Config) checkRanges() error {
	switch {
	case !(c.MaxWeight > 0) || math.IsInf(c.MaxWeight, 0):
		return fmt.Errorf("field MaxWeight: %v is not a finite number over 0", c.MaxWeight)
	case !(c.ClippingRange > 0) || math.IsInf(2*c.ClippingRange, 0):
		return fmt.Errorf("field ClippingRange: %v is not a finite number over 0", c.ClippingRange)
	case c.QuantizationRange < 1 || c.QuantizationRange > math.MaxInt32:
		return fmt.Errorf("field QuantizationRange: %d is not from 1 to %d", c.QuantizationRange, math.MaxInt32)
	case c.ModulusRange < 2 || c.ModulusRange > 1<<62 || c.ModulusRange&(c.ModulusRange-1) != 0:
		return fmt.Errorf("field ModulusRange: %d is not a power of 2 up to 2^62", c.ModulusRange)
	case c.ModulusRange/int64(len(c.Clients)) < c.QuantizationRange ||
		c.ModulusRange == c.QuantizationRange*int64(len(c.Clients)):
		return fmt.Errorf("field ModulusRange: %d cannot hold the sum of %d clients with a QuantizationRange of %d; raise it, or lower the other",
			c.ModulusRange, len(c.Clients), c.QuantizationRange)
	}
	return nil
}
