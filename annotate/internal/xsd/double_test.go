package xsd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
)

func TestAppendDouble(t *testing.T) {
	for number, want := range map[string]string{
		"30": "3.0E1", "-0.5": "-5.0E-1", "8.025e1": "8.025E1", "1e400": "INF", "-INF": "-INF", "NaN": "NaN", "-1e-400": "-0.0E0", "x": "x",
	} {
		require.Equal(t, want, string(xsd.AppendDouble(nil, []byte(number))), number)
	}
}
