package dp

import "math"

// orders returns the orders of Rényi divergence that are computed: all integers
// to 255, which is enough for ordinary noise, and some beyond for strong noise.
func orders() []int {
	all := make([]int, 0, 264)
	for order := 2; order <= 256; order++ {
		all = append(all, order)
	}
	return append(all, 320, 384, 448, 512, 640, 768, 896, 1024)
}

// divergence returns the Rényi divergence of an integer order of the Gaussian
// mechanism with a noise multiplier, applied to a Poisson sample of a rate
// (Mironov, Talwar and Zhang 2019, arXiv 1908.10530, section 3.3). It is
// ln(A)/(order-1), where A is the expectation of exp((k²-k)/2z²) for a binomial
// k. A is 1 plus a sum of positive numbers, so that a divergence near zero is
// as precise as any.
func divergence(order int, rate, multiplier float64) float64 {
	switch {
	case rate == 0:
		return 0
	case multiplier == 0:
		return math.Inf(1)
	case rate == 1:
		return float64(order) / 2 / multiplier / multiplier
	}
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
	return logOnePlusExp(excess.log()) / float64(order-1)
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
func epsilon(order int, divergence, delta float64) float64 {
	if delta*delta > -math.Expm1(-divergence) {
		return 0
	}
	a := float64(order)
	return max(divergence+math.Log1p(-1/a)-math.Log(delta*a)/(a-1), 0)
}
