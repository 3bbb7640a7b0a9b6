//go:build !amd64

package strategy

// newKernel returns the fastest kernel of this processor.
func newKernel() kernel { return portable() }
