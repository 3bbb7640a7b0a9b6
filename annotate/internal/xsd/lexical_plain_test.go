package xsd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The fast path accepts only text that the full check accepts.
func TestIsPlainInstant_agreesWithTheFullCheck(t *testing.T) {
	whole := matches(year, '-', month, '-', day, 'T', clock, zone)
	taken := 0
	const instant = "2013-01-01T06:00:00Z"
	for at := range len(instant) {
		for c := range 128 {
			text := []byte(instant)
			text[at] = byte(c)
			if isPlainInstant(text) {
				taken++
				require.True(t, whole(text), "%s", text)
			}
		}
	}
	require.Greater(t, taken, 50)
	for _, text := range []string{
		"",
		"2013-02-29T00:00:00Z",
		"0013-01-01T24:00:00Z",
		"2013-00-01T06:00:00Z",
		"2013-01-01T06:60:00Z",
		"2013-01-01T06:00:00",
	} {
		require.False(t, isPlainInstant([]byte(text)), text)
	}
}
