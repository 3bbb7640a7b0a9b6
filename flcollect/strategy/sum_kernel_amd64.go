package strategy

//go:noescape
func depositAVX2(sums *int64, x *float32, n int, scale float64) (rest uint64)

//go:noescape
func depositAVX512(sums *int64, x *float32, n int, scale float64) (rest uint64)

//go:noescape
func greatestAVX2(x *float32, n int) uint32

//go:noescape
func squaresAVX2(sums *[squareLanes]float64, x, y *float32, n int)

//go:noescape
func squaresAVX512(sums *[squareLanes]float64, x, y *float32, n int)

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() uint32

// newKernel returns the fastest kernel of this processor.
func newKernel() kernel { return kernels()[0] }

// kernels returns the kernels that this processor runs, the fastest first (Intel
// 64 and IA-32 Architectures Software Developer's Manual, volume 1, 14.7 and 15.3).
func kernels() []kernel {
	const (
		osxsave, avx     = 1 << 27, 1 << 28 // leaf 1, ecx
		avx2             = 1 << 5           // leaf 7, ebx
		avx512           = 1<<16 | 1<<17    // leaf 7, ebx: F and DQ
		saves2, saves512 = 0x06, 0xe6       // registers that the system saves
	)
	found := []kernel{portable()}
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return found
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 {
		return found
	}
	_, b, _, _ := cpuid(7, 0)
	saved := xgetbv()
	if b&avx2 == 0 || saved&saves2 != saves2 {
		return found
	}
	found = append([]kernel{{greatest: greatestVector, deposit: deposit256, squares: squares256}}, found...)
	if b&avx512 == avx512 && saved&saves512 == saves512 {
		found = append([]kernel{{greatest: greatestVector, deposit: deposit512, squares: squares512}}, found...)
	}
	return found
}

// greatestVector is greatest32 with AVX2.
func greatestVector(x []float32) uint32 {
	n := len(x) &^ 31
	if n == 0 {
		return greatest32(x)
	}
	return max(greatestAVX2(&x[0], n), greatest32(x[n:]))
}

// deposit256 is deposit32 with AVX2.
func deposit256(sums []int64, x []float32, scale float64) bool {
	n := len(x) &^ 3
	if n == 0 {
		return deposit32(sums, x, scale)
	}
	sums = sums[:len(x)]
	rest := depositAVX2(&sums[0], &x[0], n, scale)
	more := deposit32(sums[n:], x[n:], scale)
	return rest<<1 != 0 || more
}

// deposit512 is deposit32 with AVX-512.
func deposit512(sums []int64, x []float32, scale float64) bool {
	n := len(x) &^ 15
	if n == 0 {
		return deposit32(sums, x, scale)
	}
	sums = sums[:len(x)]
	rest := depositAVX512(&sums[0], &x[0], n, scale)
	more := deposit32(sums[n:], x[n:], scale)
	return rest<<1 != 0 || more
}

// squares256 is squares32 with AVX2.
func squares256(sums *[squareLanes]float64, x, y []float32) {
	n, y := len(x)&^7, y[:len(x)]
	if n > 0 {
		squaresAVX2(sums, &x[0], &y[0], n)
	}
	squares32(sums, x[n:], y[n:])
}

// squares512 is squares32 with AVX-512.
func squares512(sums *[squareLanes]float64, x, y []float32) {
	n, y := len(x)&^7, y[:len(x)]
	if n > 0 {
		squaresAVX512(sums, &x[0], &y[0], n)
	}
	squares32(sums, x[n:], y[n:])
}
