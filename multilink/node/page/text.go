package page

import (
	"strconv"

	"github.com/iotenablers/enablers/multilink/node/internal/view"
)

// bytesText writes a number of bytes with three digits.
func bytesText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	value, at := float64(n), 0
	for ; value >= 1000 && at < len(units)-1; at++ {
		value /= 1000
	}
	if at == 0 {
		return strconv.FormatUint(n, 10) + " B"
	}
	return threeDigits(value) + " " + units[at]
}

func millisecondsText(d view.Milliseconds) string {
	if d == 0 {
		return "–"
	}
	return threeDigits(d.Number()) + " ms"
}

func pathMTUText(length int) string {
	if length == 0 {
		return "–"
	}
	return strconv.Itoa(length) + " B"
}

func percentText(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" }

// threeDigits writes a number with three digits, or with those before its point.
func threeDigits(value float64) string {
	digits := 2
	for limit := 10.0; value >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}
