package ckks

import (
	"fmt"
	"runtime"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Compression is how the ciphertexts of a mean are stored.
type Compression int

// The compressions of ciphertexts.
const (
	// Echo stores them as the clients do, so that all of them can read the mean
	// and it is no larger than an update; where they differ, as None.
	Echo Compression = iota
	// None does not compress, which is fastest. For moduli of 60 and 40 bits the
	// mean is 11 per cent larger than with Zstd.
	None
	// Zlib is for clients whose SEAL was built without Zstandard.
	Zlib
	// Zstd is the default of SEAL.
	Zstd
)

// String names the compression.
func (c Compression) String() string {
	switch c {
	case Echo:
		return "echo"
	case None:
		return "none"
	case Zlib:
		return "zlib"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Compression(%d)", int(c))
}

// Options tunes a [Strategy].
type Options struct {
	// MaxAbs is the greatest absolute value that a parameter of the clients' models
	// is expected to have. With [Parameters.Room] it limits the sum of examples; the
	// real values cannot be read. Zero means 1024.
	MaxAbs float64
	// Compression is how ciphertexts are stored in the result. Zero means [Echo].
	Compression Compression
	// Workers is how many goroutines add an update. Zero means one for each
	// processor.
	Workers int
}

// Strategy is federated averaging of encrypted updates, a [strategy.Strategy]. A
// layer of its models is a tensor of bytes (Uint8, one axis): the layer's message of
// [Type]. It has no state and is safe for concurrent use. Make one with
// [NewStrategy].
type Strategy struct {
	parameters  *Parameters
	policy      strategy.Policy
	room        int64
	maxAbs      float64
	compression Compression
	workers     int
}

// NewStrategy returns the mean for a job's parameters, whose rules of sampling and
// failures are the policy; options may be nil. The error names an option that
// makes no sense, or says that there is no room for even one example.
func NewStrategy(parameters *Parameters, policy strategy.Policy, options *Options) (*Strategy, error) {
	if parameters == nil {
		return nil, fail("parameters", "there are none")
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.MaxAbs == 0 {
		o.MaxAbs = 1024
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	switch {
	case o.Workers < 0:
		return nil, fail("workers", "%d is negative", o.Workers)
	case o.Compression < Echo || o.Compression > Zstd:
		return nil, fail("compression", "%d is none", o.Compression)
	}
	s := &Strategy{parameters, policy, parameters.Room(o.MaxAbs), o.MaxAbs, o.Compression, o.Workers}
	if s.room == 0 {
		return nil, fail("scale_bits", "%d leaves no room for numbers up to %g below the moduli of %v bits",
			parameters.settings.ScaleBits, o.MaxAbs, parameters.settings.CoeffModBitSizes)
	}
	return s, nil
}

// Policy implements [strategy.Strategy].
func (s *Strategy) Policy() strategy.Policy { return s.policy }

// Configure implements [strategy.Strategy]. It adds nothing.
func (s *Strategy) Configure(strategy.Phase, int, map[string]any) {}

// State implements [strategy.Strategy]. It is nil.
func (s *Strategy) State() []tensor.Tensor { return nil }

// Restore implements [strategy.Strategy].
func (s *Strategy) Restore(state []tensor.Tensor) error {
	if len(state) > 0 {
		return fmt.Errorf("restore %s: %d tensors, the mean keeps none", Type, len(state))
	}
	return nil
}

// Begin implements [strategy.Strategy]; what it returns is an *[Aggregation].
// Round.Model is the model that the clients received, fresh or a mean of earlier
// rounds, and updates must have its shapes. If it has no layers, the first accepted
// update determines them. Begin returns an error for an invalid model.
func (s *Strategy) Begin(round strategy.Round) (strategy.Aggregation, error) {
	a := &Aggregation{strategy: s, round: round.Number, clients: map[string]bool{}}
	if len(round.Model) > 0 {
		form, _, err := s.parameters.read(round.Model)
		if err != nil {
			return nil, fmt.Errorf("begin round %d: model: %w", round.Number, err)
		}
		a.form = form
	}
	for range s.workers {
		a.codecs = append(a.codecs, &codec{})
	}
	return a, nil
}
