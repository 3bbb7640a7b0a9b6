package jobconfig

import (
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/dp"
)

// compression reads the kinds of compression that are announced to clients.
func (v value) compression() []string {
	if !v.given() {
		return nil
	}
	var kinds []string
	for _, item := range v.list(len(compress.Kinds())) {
		switch kind := item.name(); {
		case kind == "": // reported
		case !compress.Kind(kind).Known():
			item.reject(Unknown, "unknown kind of compression %q, known are %v", kind, compress.Kinds())
		case slices.Contains(kinds, kind):
			item.reject(Invalid, "%q is listed twice", kind)
		default:
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// incompressible says why clients of the job cannot compress their updates, empty if they
// can, or if none is announced.
func (c Config) incompressible() string {
	switch {
	case len(c.Compression) == 0:
		return ""
	case c.Homomorphic != nil:
		return "the updates of the job are encrypted, and ciphertexts cannot be compressed"
	case c.SecAgg != nil:
		return "the updates of the job are masked, and masked numbers cannot be compressed"
	case c.DPAdaptive != nil && dp.NoiseFromClients(c.DPAdaptive):
		return "clients add the noise of differential privacy, which compression would remove in part"
	}
	return ""
}

// checkCompression is that of [Config.Check].
func (c Config) checkCompression() error {
	for i, kind := range c.Compression {
		if !compress.Kind(kind).Known() || slices.Contains(c.Compression[:i], kind) {
			return fmt.Errorf("%w: kinds of compression %q, known are %v, each once", ErrInvalid, c.Compression, compress.Kinds())
		}
	}
	if reason := c.incompressible(); reason != "" {
		return fmt.Errorf("%w: compression: %s", ErrInvalid, reason)
	}
	return nil
}
