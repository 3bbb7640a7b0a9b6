package ckks

import (
	"fmt"
	"runtime"
)

// Compression is how the ciphertexts of a mean are stored.
type Compression int

// The ways to store ciphertexts.
const (
	// Echo stores them as the clients do, so that all of them can read the mean
	// and it is no larger than an update; where they differ, as None.
	Echo Compression = iota
	// None does not compress, which is fastest. For moduli of 60 and 40 bits the
	// mean is 11 per cent larger than with Zstd.
	None
	// Zlib is for clients whose SEAL was built without Zstandard.
	Zlib
	// Zstd is what SEAL does by default.
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

// Options are what may be set of a [Mean].
type Options struct {
	// MaxAbs is the greatest absolute value that a parameter of the clients' models
	// is expected to have. With [Parameters.Room] it limits the sum of examples; what
	// clients really send cannot be seen. Zero means 1024.
	MaxAbs float64
	// Compression is how ciphertexts are stored in the result. Zero means [Echo].
	Compression Compression
	// Workers is how many goroutines add an update. Zero means one for each
	// processor.
	Workers int
}

// Mean is federated averaging of encrypted updates. It keeps nothing from round to
// round, and may be used by several goroutines. Make one with NewMean.
type Mean struct {
	parameters  *Parameters
	room        int64
	maxAbs      float64
	compression Compression
	workers     int
}

// NewMean returns the mean for a job's parameters; options may be nil. The error
// names an option that makes no sense, or says that there is no room for even one
// example.
func NewMean(parameters *Parameters, options *Options) (*Mean, error) {
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
	m := &Mean{parameters, parameters.Room(o.MaxAbs), o.MaxAbs, o.Compression, o.Workers}
	if m.room == 0 {
		return nil, fail("scale_bits", "%d leaves no room for numbers up to %g below the moduli of %v bits",
			parameters.settings.ScaleBits, o.MaxAbs, parameters.settings.CoeffModBitSizes)
	}
	return m, nil
}
