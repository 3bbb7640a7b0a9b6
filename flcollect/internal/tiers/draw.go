package tiers

import "math"

// Plan says how many clients a round draws from each tier.
type Plan struct {
	// Tier is the index of the tier that was drawn, and Take how many clients come from
	// each; those beyond what Tier has are its filling.
	Tier int
	Take []int
	// Filled is how many clients come from other tiers.
	Filled int
	// Deviation is the greatest difference, over all clients, of the chance to be drawn
	// from that of uniform sampling, as a share of the latter; 0 if all are equal. It is
	// that before the tier was drawn.
	Deviation float64
}

// Draw draws the tier of a round that needs some of the clients, at most all of them,
// where tiers have so many clients. A tier that has too few is filled up from the next
// ones, and after the last from the first. Random returns a number from 0 to below n, each
// with the same probability.
func Draw(sizes []int, need int, random func(n int) int) Plan {
	total := 0
	for _, size := range sizes {
		total += size
	}
	if total == 0 || need <= 0 {
		return Plan{Take: make([]int, len(sizes))}
	}
	need = min(need, total)
	tier, at := 0, random(total)
	for at >= sizes[tier] {
		at -= sizes[tier]
		tier++
	}
	p := Plan{Tier: tier, Take: fill(sizes, tier, need), Deviation: deviation(sizes, need, total)}
	p.Filled = need - p.Take[tier]
	return p
}

// fill returns how many clients of each tier take part in a round of a tier.
func fill(sizes []int, tier, need int) []int {
	take := make([]int, len(sizes))
	for k := range sizes {
		next := (tier + k) % len(sizes)
		take[next] = min(need, sizes[next])
		need -= take[next]
	}
	return take
}

// deviation returns that of a [Plan].
func deviation(sizes []int, need, total int) float64 {
	chances := make([]float64, len(sizes))
	for tier, size := range sizes {
		if size == 0 {
			continue
		}
		for k, n := range fill(sizes, tier, need) {
			if n > 0 {
				chances[k] += float64(size) / float64(total) * float64(n) / float64(sizes[k])
			}
		}
	}
	worst, uniform := 0.0, float64(need)/float64(total)
	for k, size := range sizes {
		if size > 0 {
			worst = max(worst, math.Abs(chances[k]-uniform)/uniform)
		}
	}
	if worst < rounding {
		return 0
	}
	return worst
}

// rounding is what rounding may leave of equal chances.
const rounding = 1e-12
