package tiers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/tiers"
)

func names(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("client-%02d", i))
	}
	return list
}

func TestSpeeds_Split_sortsByTheWeightedMean(t *testing.T) {
	s := tiers.NewSpeeds(2)
	all := names(0, 5)
	require.Equal(t, [][]int{{}, {}, {0, 1, 2, 3, 4}}, emptied(s.Split(all)))
	for i, seconds := range []float64{4, 1, 3, 2} {
		s.Observe(all[i], seconds)
	}
	require.Equal(t, [][]int{{1, 3}, {2, 0}, {4}}, s.Split(all))
	for range 10 { // the slowest has become fast, and not at once
		s.Observe(all[0], 0.5)
	}
	require.Equal(t, [][]int{{0, 1}, {3, 2}, {4}}, s.Split(all))
	s.Observe(all[1], 1000)
	require.Equal(t, [][]int{{0, 3}, {2, 1}, {4}}, s.Split(all))
}

// emptied makes nil tiers empty ones, which require.Equal tells apart.
func emptied(split [][]int) [][]int {
	for i, tier := range split {
		split[i] = append([]int{}, tier...)
	}
	return split
}

// Clients that come with a new identity each time do not fill the memory.
func TestSpeeds_Split_forgetsClientsThatLeft(t *testing.T) {
	s := tiers.NewSpeeds(2)
	all := names(0, 4)
	s.Observe(all[0], 1)
	for i := range 5000 {
		s.Observe(fmt.Sprintf("gone-%d", i), 1)
		s.Split(all)
	}
	require.LessOrEqual(t, tiers.Known(s), 2*len(all)+1025)
	require.Equal(t, 1, len(s.Split(all)[0])+len(s.Split(all)[1]), "a connected client is remembered")
}

// Over many draws each client takes part as often as with uniform sampling, and the
// tiers as often as they have clients.
func TestDraw_isUniformForEachClient(t *testing.T) {
	const draws, need = 60_000, 3
	sizes := []int{3, 5, 9, 0, 4}
	from := rand.New(rand.NewPCG(1, 2))
	rounds, taken := make([]int, len(sizes)), make([]float64, len(sizes))
	for range draws {
		p := tiers.Draw(sizes, need, from.IntN)
		require.Zero(t, p.Deviation)
		require.Zero(t, p.Filled)
		rounds[p.Tier]++
		for k, n := range p.Take {
			require.True(t, n == 0 || k == p.Tier)
			taken[k] += float64(n)
		}
	}
	for k, size := range sizes {
		if size == 0 {
			require.Zero(t, rounds[k])
			continue
		}
		require.InEpsilon(t, float64(size)/21, float64(rounds[k])/draws, 0.03)
		require.InEpsilon(t, need/21.0, taken[k]/draws/float64(size), 0.03, "the chance of a client")
	}
}

// What a plan says of its deviation is what many draws show.
func TestDraw_saysHowFarItIsFromUniform(t *testing.T) {
	const draws = 60_000
	for _, c := range []struct {
		sizes []int
		need  int
	}{{[]int{2, 5, 1}, 4}, {[]int{1, 1, 8}, 2}, {[]int{4, 0, 0}, 4}, {[]int{3, 3}, 6}} {
		from := rand.New(rand.NewPCG(3, 4))
		taken, total, said := make([]float64, len(c.sizes)), 0, 0.0
		for _, size := range c.sizes {
			total += size
		}
		for range draws {
			p := tiers.Draw(c.sizes, c.need, from.IntN)
			said = p.Deviation
			sum, filled := 0, 0
			for k, n := range p.Take {
				taken[k] += float64(n)
				sum += n
				if k != p.Tier {
					filled += n
				}
				if n > c.sizes[k] {
					require.LessOrEqual(t, n, c.sizes[k])
				}
			}
			if sum != c.need || filled != p.Filled { // as fast as there are many draws
				require.Equal(t, []int{c.need, p.Filled}, []int{sum, filled})
			}
		}
		uniform, worst := float64(c.need)/float64(total), 0.0
		for k, size := range c.sizes {
			if size > 0 {
				worst = max(worst, math.Abs(taken[k]/draws/float64(size)-uniform)/uniform)
			}
		}
		require.InDelta(t, worst, said, 0.02, "%v", c)
	}
}

// The next tier is the next slower one, and after those without a measurement the fastest.
func TestDraw_fillsFromTheNextTier(t *testing.T) {
	last := func(n int) int { return n - 1 }
	require.Equal(t, []int{1, 0, 2}, tiers.Draw([]int{3, 4, 2}, 3, last).Take)
	first := func(int) int { return 0 }
	p := tiers.Draw([]int{0, 2, 4}, 3, first)
	require.Equal(t, 1, p.Tier)
	require.Equal(t, []int{0, 2, 1}, p.Take)
	require.Equal(t, 1, p.Filled)
	require.Greater(t, p.Deviation, 0.0)
	require.Equal(t, tiers.Plan{Take: []int{0, 0}}, tiers.Draw([]int{0, 0}, 2, first))
}
