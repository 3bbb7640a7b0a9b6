package strategy

import (
	"context"
	"math"
)

// lanes is how many elements are sorted in parallel: with a hundred updates
// they fill the second-level cache.
const lanes = 256

// median is FedMedian: the median of each element, the mean of the two middle
// ones for an even number; examples do not count (Yin and others 2018, arXiv
// 1803.01498).
type median struct{}

func (median) least() int { return 1 }

func (median) aggregate(ctx context.Context, s *Spill, count int, set func([]float64, int, int)) error {
	return ranked(ctx, s, numbers(count), set, func(rows [][]float64, out []float64) {
		middle(rows, out)
	})
}

// middle puts the median of each column of sorted rows into out.
func middle(rows [][]float64, out []float64) {
	low, high := rows[(len(rows)-1)/2], rows[len(rows)/2]
	for i := range out {
		out[i] = (low[i] + high[i]) / 2
	}
}

// trimmed is FedTrimmedAvg: the mean of each element without the least and the
// greatest share of beta (Yin and others 2018).
type trimmed struct{ beta float64 }

func (trimmed) least() int { return 1 }

func (t trimmed) aggregate(ctx context.Context, s *Spill, count int, set func([]float64, int, int)) error {
	cut := int(t.beta * float64(count))
	if 2*cut >= count { // beta 0.5 and an even number: the two middle ones stay
		cut = (count - 1) / 2
	}
	return ranked(ctx, s, numbers(count), set, func(rows [][]float64, out []float64) {
		meanOfRows(rows[cut:len(rows)-cut], out)
	})
}

func meanOfRows(rows [][]float64, out []float64) {
	copy(out, rows[0])
	for _, row := range rows[1:] {
		for i := range out {
			out[i] += row[i]
		}
	}
	for i := range out {
		out[i] /= float64(len(rows))
	}
}

// ranked sorts each element of the given updates, so that row 0 has the least
// value, and has combine make the new value of the columns.
func ranked(ctx context.Context, s *Spill, updates []int, set func([]float64, int, int),
	combine func(rows [][]float64, out []float64)) error {
	network := sortingNetwork(len(updates))
	return s.Tiles(ctx, updates, func(rows [][]float64, layer, from int) error {
		out := make([]float64, len(rows[0]))
		parallel((len(out)+lanes-1)/lanes, func(k int) {
			first, last := k*lanes, min((k+1)*lanes, len(out))
			part := make([][]float64, len(rows))
			for i, row := range rows {
				part[i] = row[first:last]
			}
			for _, pair := range network {
				order(part[pair[0]], part[pair[1]])
			}
			combine(part, out[first:last])
		})
		set(out, layer, from)
		return nil
	})
}

// order exchanges the elements that are greater in low than in high.
func order(low, high []float64) {
	high = high[:len(low)]
	for i, v := range low {
		w := high[i]
		low[i], high[i] = min(v, w), max(v, w)
	}
}

// sortingNetwork returns the pairs of rows to order, one after the other, to
// sort n rows: Batcher's odd-even merge (Knuth, The Art of Computer Programming
// 3, 5.2.2, algorithm M).
func sortingNetwork(n int) [][2]int {
	var pairs [][2]int
	top := 1
	for top < n {
		top *= 2
	}
	for p := top / 2; p > 0; p /= 2 {
		q, r, d := top/2, 0, p
		for {
			for i := range n - d {
				if i&p == r {
					pairs = append(pairs, [2]int{i, i + d})
				}
			}
			if q == p {
				break
			}
			d, q, r = q-p, q/2, p
		}
	}
	return pairs
}

// closest puts the mean of the keep values next to the median of each column of
// sorted rows into out. Of two that are as far, the greater is left out.
func closest(rows [][]float64, keep int, out []float64) {
	middle(rows, out)
	for i, centre := range out {
		low, high := 0, len(rows)-1
		for high-low+1 > keep {
			if math.Abs(centre-rows[low][i]) > math.Abs(rows[high][i]-centre) {
				low++
			} else {
				high--
			}
		}
		sum := 0.0
		for _, row := range rows[low : high+1] {
			sum += row[i]
		}
		out[i] = sum / float64(keep)
	}
}
