package dp_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/internal/peertest"
)

func spent(t *testing.T, rate, multiplier float64, times int, delta float64) (float64, float64) {
	t.Helper()
	accountant, err := dp.NewAccountant(delta)
	require.NoError(t, err)
	require.NoError(t, accountant.Spend(rate, multiplier, times))
	return accountant.Epsilon()
}

// The values were integrated with 25 digits by mpmath, at the orders that are tenths.
func TestAccountant_agreesWithIndependentIntegrals(t *testing.T) {
	for _, c := range []struct {
		rate, multiplier float64
		times            int
		epsilon, order   float64
	}{
		{0.01, 1, 30, 1.09588200884, 9.1},
		{0.1, 1.1, 100, 6.61370434507, 3.6},
		{0.01, 1.1, 10_000, 5.63199236868, 4.7},
		{0.03, 0.5, 1000, 39.5186574607, 1.6},
	} {
		epsilon, order := spent(t, c.rate, c.multiplier, c.times, 1e-5)
		require.InDelta(t, c.epsilon, epsilon, 1e-9)
		require.Equal(t, c.order, order)
	}
}

// The values are solutions of the equation of Balle and Wang (2018, theorem 8), found with
// 40 digits by mpmath.
func TestAccountant_isExactWithoutSampling(t *testing.T) {
	for _, c := range []struct {
		multiplier float64
		times      int
		delta      float64
		epsilon    float64
	}{
		{1, 30, 1e-5, 37.62245693099},
		{1, 3, 1e-5, 8.3854189242168},
		{0.3, 300, 1e-5, 1911.9355455411},
		{10, 40, 1e-9, 3.7454668192426},
		{2, 1, 1e-5, 1.9930914044151},
		{60, 1, 0.01, 0},
		{1000, 1, 1e-12, 0.0056995464684263},
		{1, 1_000_000, 1e-300, 537046.11437806},
	} {
		epsilon, order := spent(t, 1, c.multiplier, c.times, c.delta)
		require.InDelta(t, c.epsilon, epsilon, 1e-9*c.epsilon)
		require.Zero(t, order)
	}
}

func TestAccountant_boundsMechanismsWithAndWithoutSampling(t *testing.T) {
	accountant, err := dp.NewAccountant(1e-5)
	require.NoError(t, err)
	require.NoError(t, accountant.Spend(1, 1, 3))
	whole, _ := accountant.Epsilon()
	require.NoError(t, accountant.Spend(0.01, 1, 30))
	both, order := accountant.Epsilon()
	require.Greater(t, both, whole)
	require.Less(t, both, whole+1.1)
	require.Greater(t, order, 1.)
}

func TestAccountant_agreesWithDPAccounting(t *testing.T) {
	program := peertest.Python(t, "dp-accounting==0.6.0")
	type account struct {
		rate, multiplier float64
		times            int
		delta            float64
	}
	var grid []account
	times, deltas := []int{1, 40, 300, 5000}, []float64{1e-9, 1e-5, 0.01}
	for _, rate := range []float64{0.001, 0.03, 0.4, 1} {
		for _, multiplier := range []float64{0.3, 0.7, 1, 2.5, 10, 60} {
			n := len(grid) + len(grid)/12 // so that every pair comes
			grid = append(grid, account{rate, multiplier, times[n%len(times)], deltas[n%len(deltas)]})
		}
	}
	var questions strings.Builder
	for _, c := range grid {
		fmt.Fprintln(&questions, c.rate, c.multiplier, c.times, c.delta)
	}
	arguments := []string{filepath.Join("testdata", "accounts.py")}
	for _, order := range dp.Orders() {
		arguments = append(arguments, strconv.FormatFloat(order, 'g', -1, 64))
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Stdin = strings.NewReader(questions.String())
	output, err := command.Output()
	require.NoError(t, err)
	answers := strings.Fields(string(output))
	require.Len(t, answers, 2*len(grid))
	for i, c := range grid {
		most, err := strconv.ParseFloat(answers[2*i], 64)
		require.NoError(t, err)
		exact, err := strconv.ParseFloat(answers[2*i+1], 64)
		require.NoError(t, err)
		got, _ := spent(t, c.rate, c.multiplier, c.times, c.delta)
		require.LessOrEqual(t, got, most+1e-4+1e-9*most, "%+v", c)
		require.GreaterOrEqual(t, got, exact-1e-3-1e-2*exact, "%+v", c)
		if c.rate == 1 && exact > 0 {
			require.InDelta(t, exact, got, 1e-3+1e-2*exact, "%+v", c)
		}
	}
}

func TestAccountant_addsRoundsOneByOne(t *testing.T) {
	whole, _ := spent(t, 0.02, 0.9, 500, 1e-6)
	accountant, err := dp.NewAccountant(1e-6)
	require.NoError(t, err)
	before := -1.0
	for range 500 {
		require.NoError(t, accountant.Spend(0.02, 0.9, 1))
		epsilon, _ := accountant.Epsilon()
		require.Greater(t, epsilon, before)
		before = epsilon
	}
	require.InDelta(t, whole, before, 1e-9)
}

func TestAccountant_Clone_isIndependent(t *testing.T) {
	accountant, err := dp.NewAccountant(0)
	require.NoError(t, err)
	require.Equal(t, 1e-5, accountant.Delta())
	require.NoError(t, accountant.Spend(1, 2, 1))
	before, _ := accountant.Epsilon()
	clone := accountant.Clone()
	require.NoError(t, clone.Spend(1, 1, 1))
	after, _ := accountant.Epsilon()
	require.Equal(t, before, after)
	more, _ := clone.Epsilon()
	require.Greater(t, more, before)
}

func TestAccountant_Epsilon_atTheEdges(t *testing.T) {
	for _, c := range []struct {
		rate, multiplier float64
		times            int
		least, most      float64
	}{
		{1, 1, 0, 0, 0},
		{0, 1, 1000, 0, 0},
		{1e-9, 1, 1, 0, 0},
		{1, 0, 1, math.Inf(1), math.Inf(1)},
		{0.5, 0, 1, math.Inf(1), math.Inf(1)},
		{0.5, 1e-200, 1, math.Inf(1), math.Inf(1)},
		{0.5, 1e-3, 1, 5e5, 5.2e5},
		{1, 1e9, 1, 0, 0},
		{0.5, 1e300, math.MaxInt32, 0, 0},
	} {
		epsilon, _ := spent(t, c.rate, c.multiplier, c.times, 1e-5)
		require.True(t, epsilon >= c.least && epsilon <= c.most, "%+v: %v", c, epsilon)
	}
}

func TestAccountant_refusesInvalidMechanisms(t *testing.T) {
	for _, delta := range []float64{-1e-5, 1, 2, math.NaN(), math.Inf(1)} {
		_, err := dp.NewAccountant(delta)
		require.ErrorContains(t, err, "delta")
	}
	accountant, err := dp.NewAccountant(1e-5)
	require.NoError(t, err)
	for _, rate := range []float64{-0.1, 1.1, math.NaN()} {
		require.ErrorContains(t, accountant.Spend(rate, 1, 1), "sampling rate")
	}
	for _, multiplier := range []float64{-1, math.NaN(), math.Inf(1)} {
		require.ErrorContains(t, accountant.Spend(1, multiplier, 1), "noise multiplier")
	}
	require.ErrorContains(t, accountant.Spend(1, 1, -1), "-1 times")
	epsilon, _ := accountant.Epsilon()
	require.Zero(t, epsilon, "what was refused cost nothing")
}
