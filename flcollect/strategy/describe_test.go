package strategy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestDescribe_saysWhatEveryParameterMeans(t *testing.T) {
	for _, name := range strategy.Names() {
		d, ok := strategy.Describe(name)
		require.True(t, ok, name)
		require.Equal(t, name, d.Name)
		require.NotEmpty(t, d.Meaning, name)
		for _, p := range append(d.Parameters, strategy.DescribeBounds()...) {
			require.NotEmpty(t, p.Meaning, "%s of %s", p.Name, name)
			require.LessOrEqual(t, p.Least, p.Most, "%s of %s", p.Name, name)
		}
	}
	_, ok := strategy.Describe("absent")
	require.False(t, ok)
}

// What is described is what [strategy.New] applies: the defaults are accepted, and what
// lies beyond a bound is not.
func TestDescribe_hasTheBoundsOfNew(t *testing.T) {
	for _, name := range strategy.Names() {
		d, _ := strategy.Describe(name)
		defaults := strategy.Conf{}
		for _, p := range d.Parameters {
			defaults[p.Name] = p.Default
			if p.Required {
				defaults[p.Name] = p.Least
			}
		}
		_, err := strategy.New(name, defaults)
		require.NoError(t, err)
		for _, p := range d.Parameters {
			beyond := []float64{p.Least - 1, p.Most + 1}
			for _, value := range beyond {
				if p.Kind == "boolean" || math.IsInf(value, 0) {
					continue
				}
				given := strategy.Conf{}
				for field, usual := range defaults {
					given[field] = usual
				}
				given[p.Name] = value
				_, err := strategy.New(name, given)
				require.ErrorContains(t, err, p.Name)
			}
		}
	}
}
