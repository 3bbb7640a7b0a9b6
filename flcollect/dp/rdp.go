package dp

import "math"

// The fractional orders are below mostFraction, and are computed for multipliers of at
// least leastFraction.
const (
	mostFraction  = 11
	leastFraction = 0.2
)

// orders returns the orders of Rényi divergence that are computed: tenths and some
// hundredths where the divergence is great, all integers to 255, which is enough for
// ordinary noise, and some beyond for strong noise.
func orders() []float64 {
	all := []float64{1.01, 1.02, 1.03, 1.04, 1.06, 1.08}
	for tenths := 11; tenths < 10*mostFraction; tenths++ {
		all = append(all, float64(tenths)/10)
	}
	for order := mostFraction; order <= 256; order++ {
		all = append(all, float64(order))
	}
	return append(all, 320, 384, 448, 512, 640, 768, 896, 1024)
}

// divergence returns the Rényi divergence of an order of the Gaussian mechanism with a
// noise multiplier, applied to a Poisson sample of a rate (Mironov, Talwar and Zhang 2019,
// arXiv 1908.10530). It is ln(A)/(order-1), where A is a moment of the ratio of two
// densities.
func divergence(order, rate, multiplier float64) float64 {
	unsampled := order / 2 / multiplier / multiplier
	switch {
	case rate == 0:
		return 0
	case multiplier == 0:
		return math.Inf(1)
	case rate == 1:
		return unsampled
	case order == math.Trunc(order):
		return logOnePlusExp(wholeMoment(int(order), rate, multiplier)) / (order - 1)
	case multiplier < leastFraction: // bounds: a sample loses less, and a greater order more
		return min(unsampled, divergence(math.Ceil(order), rate, multiplier))
	}
	return logOnePlusExp(fractionalMoment(order, rate, multiplier)) / (order - 1)
}

// wholeMoment returns ln(A-1) for an integer order (section 3.3 there): A is the
// expectation of exp((k²-k)/2z²) for a binomial k. It is 1 plus a sum of positive numbers,
// so that a divergence near zero is as precise as any.
func wholeMoment(order int, rate, multiplier float64) float64 {
	excess := logSum{greatest: math.Inf(-1)}
	n, _ := math.Lgamma(float64(order + 1))
	for k := 2; k <= order; k++ {
		chosen, _ := math.Lgamma(float64(k + 1))
		others, _ := math.Lgamma(float64(order - k + 1))
		exponent := float64(k) * float64(k-1) / 2 / multiplier / multiplier
		excess.add(n - chosen - others +
			float64(k)*math.Log(rate) + float64(order-k)*math.Log1p(-rate) +
			logExpm1(exponent))
	}
	return excess.log()
}

// fractionalMoment returns ln(A-1) for any order to [mostFraction], at multipliers from
// [leastFraction]: A is the expectation of (1+t)^order over a standard normal u, where
// t = rate·(exp(u/z-1/2z²)-1). As t has the expectation 0, A-1 is that of
// (1+t)^order-1-order·t, which is nowhere negative. The trapezoidal rule converges
// exponentially for such an integrand, whose singularities are πz from the real line.
func fractionalMoment(order, rate, multiplier float64) float64 {
	const tail = 11 // the normal density beyond it is below the precision
	step := min(0.25, multiplier/4)
	excess := logSum{greatest: math.Inf(-1)}
	for u := -float64(tail); u <= max(order, 2)/multiplier+tail; u += step {
		t := rate * math.Expm1((u-1/(2*multiplier))/multiplier)
		excess.add(logRemainder(order, t) - u*u/2)
	}
	return excess.log() + math.Log(step/math.Sqrt(2*math.Pi))
}

// logRemainder returns ln((1+t)^order-1-order·t) for t above -1.
func logRemainder(order, t float64) float64 {
	if math.Abs(order*t) < 1e-3 { // the difference would lose its digits
		series := 1 + (order-2)/3*t*(1+(order-3)/4*t)
		return math.Log(order*(order-1)/2*series) + 2*math.Log(math.Abs(t))
	}
	if power := order * math.Log1p(t); power > 50 {
		return power + math.Log1p(-(1+order*t)*math.Exp(-power))
	}
	return math.Log(math.Expm1(order*math.Log1p(t)) - order*t)
}

// logSum is the logarithm of a sum of numbers that are given by their
// logarithms.
type logSum struct {
	greatest float64
	sum      float64 // in units of the largest
}

func (s *logSum) add(log float64) {
	switch {
	case math.IsInf(log, 0): // nothing, or all there can be
		s.greatest = max(s.greatest, log)
	case log <= s.greatest:
		s.sum += math.Exp(log - s.greatest)
	default:
		s.sum = s.sum*math.Exp(s.greatest-log) + 1
		s.greatest = log
	}
}

func (s *logSum) log() float64 {
	if math.IsInf(s.greatest, 0) {
		return s.greatest
	}
	return s.greatest + math.Log(s.sum)
}

// logExpm1 returns ln(exp(x)-1) for x of at least 0.
func logExpm1(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(-math.Exp(-x))
	}
	return math.Log(math.Expm1(x))
}

// logOnePlusExp returns ln(1+exp(x)).
func logOnePlusExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// epsilon returns the least epsilon that follows from a divergence of an order
// for a delta (Canonne, Kamath and Steinke 2020, arXiv 2004.00010, proposition
// 12). Where the divergence is so small that the total variation is below delta
// (Bretagnolle and Huber 1979), it is 0.
func epsilon(order, divergence, delta float64) float64 {
	if delta*delta > -math.Expm1(-divergence) {
		return 0
	}
	return max(divergence+math.Log1p(-1/order)-math.Log(delta*order)/(order-1), 0)
}
