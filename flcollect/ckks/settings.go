package ckks

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of the parameters whose tensors this package reads, as
// clients name it on the wire.
const Type = "homomorphic"

// Settings are the encryption parameters of a job, by the names of the REST
// interface's object "homomorphic". The zero value stands for the defaults.
type Settings struct {
	// Scheme is the scheme. "CKKS", the default, is the only one; the case of the
	// letters does not matter.
	Scheme string `json:"scheme,omitzero"`
	// PolyModulusDegree is the degree N of the ring, a power of two from 1024 to
	// 32768. Zero means 8192. A ciphertext has N/2 slots.
	PolyModulusDegree int `json:"poly_modulus_degree,omitzero"`
	// CoeffModBitSizes are the sizes of the prime moduli in bits, 2 to 60 each. The
	// last one is that of the keys, unless it is alone. Empty means 60, 40, 40.
	CoeffModBitSizes []int `json:"coeff_mod_bit_sizes,omitempty"`
	// ScaleBits is the binary logarithm of the scale of the clients' context. Zero
	// means 40.
	ScaleBits int `json:"scale_bits,omitzero"`
}

// FieldError is the error of one setting.
type FieldError struct {
	// Field is its name in the REST interface.
	Field string
	// Reason is what is wrong with it.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("ckks: %s: %s", e.Field, e.Reason) }

func fail(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// withDefaults returns the settings with the defaults where there are none. The
// sizes are copied.
func (s Settings) withDefaults() Settings {
	if s.Scheme == "" {
		s.Scheme = "CKKS"
	}
	if s.PolyModulusDegree == 0 {
		s.PolyModulusDegree = 8192
	}
	if len(s.CoeffModBitSizes) == 0 {
		s.CoeffModBitSizes = []int{60, 40, 40}
	}
	if s.ScaleBits == 0 {
		s.ScaleBits = 40
	}
	s.CoeffModBitSizes = slices.Clone(s.CoeffModBitSizes)
	return s
}

// Open reports whether the settings leave the moduli open. Then a job takes the
// open settings, including the degree and the scale, from its clients' keys.
func (s Settings) Open() bool { return len(s.CoeffModBitSizes) == 0 }

// Check returns nil for settings that keys can have, even if some are open, and
// otherwise a *[FieldError].
func (s Settings) Check() error {
	if !s.Open() {
		_, err := NewParameters(s)
		return err
	}
	if s.Scheme != "" && !strings.EqualFold(s.Scheme, "CKKS") {
		return fail("scheme", "%q is not supported, only CKKS is", s.Scheme)
	}
	bound, ok := security(s.withDefaults().PolyModulusDegree)
	if !ok {
		return fail("poly_modulus_degree", "%d is not a power of two from 1024 to 32768", s.PolyModulusDegree)
	}
	if s.ScaleBits < 0 || s.ScaleBits > bound-2 {
		return fail("scale_bits", "%d is not from 1 to %d", s.ScaleBits, bound-2)
	}
	return nil
}

// Fill returns the settings with open ones taken from others.
func (s Settings) Fill(others Settings) Settings {
	if s.Scheme == "" {
		s.Scheme = others.Scheme
	}
	if s.PolyModulusDegree == 0 {
		s.PolyModulusDegree = others.PolyModulusDegree
	}
	if s.Open() {
		s.CoeffModBitSizes = others.CoeffModBitSizes
	}
	if s.ScaleBits == 0 {
		s.ScaleBits = others.ScaleBits
	}
	s.CoeffModBitSizes = slices.Clone(s.CoeffModBitSizes)
	return s
}

// String returns the settings, as in "degree 8192, scale 2^40".
func (s Settings) String() string {
	var parts []string
	if s.PolyModulusDegree != 0 {
		parts = append(parts, fmt.Sprintf("degree %d", s.PolyModulusDegree))
	}
	if !s.Open() {
		parts = append(parts, fmt.Sprintf("moduli of %v bits", s.CoeffModBitSizes))
	}
	if s.ScaleBits != 0 {
		parts = append(parts, fmt.Sprintf("scale 2^%d", s.ScaleBits))
	}
	return strings.Join(parts, ", ")
}

// security is the greatest number of bits of all moduli together with which a
// degree still gives 128 bits of security against a classical attacker, for ternary
// secrets (Homomorphic Encryption Security Standard 2018, table 1; 32768 as SEAL
// extends it).
func security(degree int) (bits int, ok bool) {
	switch degree {
	case 1024:
		return 27, true
	case 2048:
		return 54, true
	case 4096:
		return 109, true
	case 8192:
		return 218, true
	case 16384:
		return 438, true
	case 32768:
		return 881, true
	}
	return 0, false
}
