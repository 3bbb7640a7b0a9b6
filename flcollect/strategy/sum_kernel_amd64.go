package strategy

//go:noescape
func depositAVX2(sums *int64, x *float32, n int, scale float64) (rest uint64)

//go:noescape
func greatestAVX2(x *float32, n int) uint32

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() uint32

// newKernel returns the fastest kernel of this processor.
func newKernel() kernel {
	const osxsave, avx, avx2, saved = 1 << 27, 1 << 28, 1 << 5, 6
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return portable()
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 || xgetbv()&saved != saved {
		return portable()
	}
	if _, b, _, _ := cpuid(7, 0); b&avx2 == 0 {
		return portable()
	}
	return kernel{greatest: greatestVector, deposit: depositVector}
}

// greatestVector is greatest32 with AVX2.
func greatestVector(x []float32) uint32 {
	n := len(x) &^ 7
	if n == 0 {
		return greatest32(x)
	}
	return max(greatestAVX2(&x[0], n), greatest32(x[n:]))
}

// depositVector is deposit32 with AVX2.
func depositVector(sums []int64, x []float32, scale float64) bool {
	n := len(x) &^ 3
	if n == 0 {
		return deposit32(sums, x, scale)
	}
	sums = sums[:len(x)]
	rest := depositAVX2(&sums[0], &x[0], n, scale)
	more := deposit32(sums[n:], x[n:], scale)
	return rest<<1 != 0 || more
}
