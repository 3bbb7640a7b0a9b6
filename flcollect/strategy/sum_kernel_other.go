//go:build !amd64

package strategy

// newKernel returns the fastest kernel of this processor.
func newKernel() kernel { return portable() }

// kernels returns the kernels that this processor runs, the fastest first.
func kernels() []kernel { return []kernel{portable()} }
