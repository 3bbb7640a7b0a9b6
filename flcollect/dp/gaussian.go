package dp

import "math"

// exactEpsilon returns the least epsilon of a Gaussian mechanism for a delta. Mu is the
// sensitivity in units of the standard deviation; mechanisms one after the other are one
// whose mu² is the sum of theirs (Dong, Roth and Su 2022, arXiv 1905.02383). Most is an
// epsilon that suffices.
func exactEpsilon(mu, delta, most float64) float64 {
	switch {
	case math.IsInf(most, 1):
		return most
	case mu == 0 || logDelta(mu, 0) <= math.Log(delta):
		return 0
	}
	least := 0.
	for range 200 {
		middle := least + (most-least)/2
		if middle <= least || middle >= most {
			break
		}
		if logDelta(mu, middle) <= math.Log(delta) {
			most = middle
		} else {
			least = middle
		}
	}
	return most
}

// logDelta returns the logarithm of the least delta of a Gaussian mechanism for an epsilon
// (Balle and Wang 2018, arXiv 1805.06530, theorem 8): of Φ(-x) - exp(epsilon)·Φ(-y), where
// x and y are epsilon/mu ∓ mu/2. As exp(epsilon) is the ratio of the densities at x and y,
// it does not have to be computed.
func logDelta(mu, epsilon float64) float64 {
	x, y := epsilon/mu-mu/2, epsilon/mu+mu/2
	first := logTail(x)
	second := logMills(y) - x*x/2 - logRootTau
	return first + math.Log(-math.Expm1(min(second-first, 0)))
}

// logRootTau is ln(√2π).
const logRootTau = 0.918938533204672741780329736405617640

// farTail is where the tail of the normal distribution is computed by its asymptotic
// series.
const farTail = 30

// logTail returns ln(Φ(-x)), the logarithm of the probability of more than x.
func logTail(x float64) float64 {
	if x < farTail {
		return math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	return logMills(x) - x*x/2 - logRootTau
}

// logMills returns the logarithm of the tail beyond x in units of the density at x, for x
// of at least 0.
func logMills(x float64) float64 {
	if x < farTail {
		return math.Log(math.Erfc(x/math.Sqrt2)/2) + x*x/2 + logRootTau
	}
	s := 1 / (x * x)
	return math.Log1p(-s*(1-3*s*(1-5*s))) - math.Log(x)
}
