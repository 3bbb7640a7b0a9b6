package strategy

import (
	"context"
	"math"
	"slices"
)

// krum selects the update that is nearest to its neighbours, or the weighted
// mean of the keep nearest ones, where keep is not 0 (Blanchard and others
// 2017, arXiv 1703.02757).
type krum struct{ malicious, keep int }

func (krum) least() int { return 1 }

func (k krum) aggregate(ctx context.Context, s *Spill, count int, set func([]float64, int, int)) error {
	far, err := distances(ctx, s, count)
	if err != nil {
		return err
	}
	scores := far.scores(numbers(count), k.malicious)
	best := numbers(count)
	slices.SortStableFunc(best, func(a, b int) int {
		switch {
		case scores[a] < scores[b]:
			return -1
		case scores[a] > scores[b]:
			return 1
		}
		return 0
	})
	best = best[:min(max(k.keep, 1), count)]
	slices.Sort(best)
	total := 0.0
	weights := make([]float64, len(best))
	for i, update := range best {
		weights[i] = float64(s.Examples(update))
		total += weights[i]
	}
	return s.Tiles(ctx, best, func(rows [][]float64, layer, from int) error {
		out := rows[0]
		if len(rows) > 1 {
			out = make([]float64, len(rows[0]))
			for r, row := range rows {
				for i, v := range row {
					out[i] += weights[r] * v
				}
			}
			for i := range out {
				out[i] /= total
			}
		}
		set(out, layer, from)
		return nil
	})
}

// bulyan selects updates by Krum, one at a time, and takes the mean of the values
// that are next to their median (El Mhamdi and others 2018, arXiv 1802.07927).
type bulyan struct{ malicious int }

func (b bulyan) least() int { return 4*b.malicious + 3 }

func (b bulyan) aggregate(ctx context.Context, s *Spill, count int, set func([]float64, int, int)) error {
	far, err := distances(ctx, s, count)
	if err != nil {
		return err
	}
	selected := make([]int, 0, count)
	left := numbers(count)
	for range count - 2*b.malicious {
		scores := far.scores(left, b.malicious)
		best := 0
		for i, score := range scores {
			if score < scores[best] {
				best = i
			}
		}
		selected = append(selected, left[best])
		left = slices.Delete(left, best, best+1)
	}
	slices.Sort(selected)
	keep := len(selected) - 2*b.malicious
	return ranked(ctx, s, selected, set, func(rows [][]float64, out []float64) { closest(rows, keep, out) })
}

// squares are the squared distances between updates.
type squares [][]float64

// distances compares all updates, tile by tile.
func distances(ctx context.Context, s *Spill, count int) (squares, error) {
	far := make(squares, count)
	var pairs [][2]int
	for i := range far {
		far[i] = make([]float64, count)
		for j := range i {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	err := s.Tiles(ctx, numbers(count), func(rows [][]float64, _, _ int) error {
		parallel(len(pairs), func(k int) {
			i, j := pairs[k][0], pairs[k][1]
			far[i][j] += between(rows[i], rows[j])
		})
		return nil
	})
	for _, pair := range pairs {
		far[pair[1]][pair[0]] = far[pair[0]][pair[1]]
	}
	return far, err
}

func between(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		a, b, c, d = a+d0*d0, b+d1*d1, c+d2*d2, d+d3*d3
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		a += (v - y[i]) * (v - y[i])
	}
	return a + b + c + d
}

// scores returns, for each of the given updates, the sum of the squared
// distances to the nearest others, all but malicious and two of them.
func (far squares) scores(updates []int, malicious int) []float64 {
	near := max(1, len(updates)-malicious-2)
	scores := make([]float64, len(updates))
	for i, update := range updates {
		var others []float64
		for _, other := range updates {
			if other != update {
				others = append(others, far[update][other])
			}
		}
		slices.Sort(others)
		for _, d := range others[:min(near, len(others))] {
			scores[i] += d
		}
		if math.IsInf(scores[i], 1) || math.IsNaN(scores[i]) {
			scores[i] = math.MaxFloat64
		}
	}
	return scores
}
