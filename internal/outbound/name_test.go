package outbound_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/outbound"
)

func TestName_Matches(t *testing.T) {
	for text, c := range map[string]struct{ matched, others []string }{
		"Weather.example.": {[]string{"weather.example", "WEATHER.EXAMPLE."},
			[]string{"a.weather.example", "weather.example..", ""}},
		"*.example": {[]string{"a.example", "a.b.Example."}, []string{"example", ".example", "badexample"}},
	} {
		name := outbound.ParseName(text)
		for _, host := range c.matched {
			require.True(t, name.Matches(host), "%s: %s", text, host)
		}
		for _, host := range c.others {
			require.False(t, name.Matches(host), "%s: %s", text, host)
		}
	}
}

func TestIsNumber_findsWhatResolversTakeForAnAddress(t *testing.T) {
	for host, number := range map[string]bool{
		"127.1": true, "2130706433": true, "0x7f.1": true, "a.0x7f": true, "": true, "a.": true, "1.a": false, "x0": false,
	} {
		require.Equal(t, number, outbound.IsNumber(host), host)
	}
}

func TestBare_removesPairsOfBracketsOnly(t *testing.T) {
	for host, bare := range map[string]string{"[::1]": "::1", "::1": "::1", "[::1": "[::1", "a": "a", "": ""} {
		require.Equal(t, bare, outbound.Bare(host))
	}
}
