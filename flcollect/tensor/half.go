package tensor

import "math"

// fromHalf returns the value of an IEEE 754 binary16.
func fromHalf(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		v = math.Inf(1)
		if fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits>>15 != 0 {
		return -v
	}
	return v
}

// toHalf rounds to the nearest binary16, to even in the middle.
func toHalf(v float64) uint16 {
	sign := uint16(math.Float64bits(v) >> 48 & 0x8000)
	v = math.Abs(v)
	switch {
	case v != v:
		return sign | 0x7e00
	case v >= 65520: // halfway from the largest to the next representable number
		return sign | 0x7c00
	case v < math.Ldexp(1, -14):
		return sign | uint16(math.RoundToEven(math.Ldexp(v, 24))) // the carry makes it normal
	}
	fraction, exponent := math.Frexp(v) // 0.5 <= fraction < 1
	rounded := uint16(math.RoundToEven(math.Ldexp(fraction, 11)))
	return sign | (uint16(exponent+13)<<10 + rounded)
}

// toBFloat rounds to the nearest bfloat16, to even in the middle. Its high half
// of a binary32 is rounded from the 64-bit number at once: through a binary32
// it would be rounded twice.
func toBFloat(v float64) uint16 {
	if v != v {
		return 0x7fc0
	}
	single := float32(v)
	bits := math.Float32bits(single)
	if d := float64(single); d != v && bits&0xffff == 0x8000 {
		// Rounding moved it to the middle: correct that.
		if math.Abs(d) > math.Abs(v) {
			bits--
		} else {
			bits++
		}
	}
	bits += 0x7fff + bits>>16&1
	return uint16(bits >> 16)
}
