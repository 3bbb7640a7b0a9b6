package round

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// PrivacyLoss returns the privacy loss of a strategy, nil without differential privacy.
func PrivacyLoss(s strategy.Strategy) *report.Privacy {
	private, ok := s.(*dp.Adaptive)
	if !ok {
		return nil
	}
	p := private.Privacy()
	return &report.Privacy{Epsilon: report.Epsilon(p.Epsilon), Delta: p.Delta}
}

// noteRate says how the clients of a fit were drawn independently of each other where that
// is notable: none was, or their expected number is far from the configured one, by which
// the sum of the updates is divided.
func (c *Conductor) noteRate(drawn Draw) string {
	if drawn.From == 0 || c.private == nil {
		return ""
	}
	rate, configured := c.private.Sampling()
	var text string
	if len(drawn.Clients) == 0 {
		text = fmt.Sprintf("fit: none of %d clients was drawn, so the update is noise", drawn.From)
	}
	mean := rate * float64(drawn.From)
	if ratio := mean / float64(configured); ratio >= 0.5 && ratio <= 2 {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + fmt.Sprintf("fit: of %d clients %.3g are drawn on average, and the update is divided by num_sampled_clients, %d",
		drawn.From, mean, configured)
}

// normBit is the metric in which clients report whether they were within the clip norm.
const normBit = "dpfedavg_norm_bit"

// hideNormBit replaces the exact share of clients within the clip norm, which epsilon
// does not cover, by the private one, if the round has one.
func hideNormBit(means map[string]float64, private *dp.Adaptive, aggregated bool) {
	if private == nil {
		return
	}
	delete(means, normBit)
	if aggregated {
		means[normBit] = private.Privacy().Fraction
	}
}
