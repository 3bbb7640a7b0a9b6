package function

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// phonetic returns a code that is equal for texts that sound alike.
func phonetic(c Call) ([]string, error) {
	switch mode := strings.ToLower(c.Arg(1)); mode {
	case "soundex":
		return text(soundex(c.Arg(0)))
	case "cologne", "cologne-phonetic":
		return text(cologne(c.Arg(0)))
	}
	return nil, fmt.Errorf("the phonetic method %q is not known: expected soundex or cologne", brief(c.Arg(1)))
}

// plainLetters returns the letters of a text as A to Z without accents, and
// drops everything else.
func plainLetters(s string, replaced ...string) string {
	s = strings.NewReplacer(replaced...).Replace(strings.ToUpper(s))
	return strings.Map(func(r rune) rune {
		if r < 'A' || r > 'Z' {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// soundexDigits are the digits of the letters A to Z: 0 is that of a vowel, and
// a letter with a dash is as if it were not there.
const soundexDigits = "0123012-02245501262301-202"

// soundex is the American Soundex code: the first letter and three digits
// (National Archives of the United States, The Soundex Indexing System). It is
// empty for a text without letters.
func soundex(s string) string {
	letters := plainLetters(s, "ß", "SS")
	if letters == "" {
		return ""
	}
	code := []byte{letters[0]}
	last := soundexDigits[letters[0]-'A']
	for i := 1; i < len(letters) && len(code) < 4; i++ {
		digit := soundexDigits[letters[i]-'A']
		if digit == '-' {
			continue
		}
		if digit != '0' && digit != last {
			code = append(code, digit)
		}
		last = digit
	}
	return (string(code) + "000")[:4]
}

// cologne is the Kölner Phonetik of Hans Joachim Postel (1969), which suits
// German names.
func cologne(s string) string {
	letters := plainLetters(s, "ß", "S")
	var digits []byte
	for i := range len(letters) {
		var before, after byte
		if i > 0 {
			before = letters[i-1]
		}
		if i+1 < len(letters) {
			after = letters[i+1]
		}
		digits = append(digits, cologneDigit(letters[i], before, after)...)
	}
	digits = slices.Compact(digits)
	var code []byte
	for i, digit := range digits {
		if digit != '0' || i == 0 {
			code = append(code, digit)
		}
	}
	return string(code)
}

// cologneDigit returns the digits of a letter by its neighbours, which are 0 at
// the ends.
func cologneDigit(letter, before, after byte) string {
	next := func(letters string) bool { return after != 0 && strings.IndexByte(letters, after) >= 0 }
	last := func(letters string) bool { return before != 0 && strings.IndexByte(letters, before) >= 0 }
	switch letter {
	case 'H':
		return ""
	case 'B':
		return "1"
	case 'P':
		if next("H") {
			return "3"
		}
		return "1"
	case 'D', 'T':
		if next("CSZ") {
			return "8"
		}
		return "2"
	case 'F', 'V', 'W':
		return "3"
	case 'G', 'K', 'Q':
		return "4"
	case 'C':
		if (before == 0 && next("AHKLOQRUX")) || (before != 0 && next("AHKOQUX") && !last("SZ")) {
			return "4"
		}
		return "8"
	case 'X':
		if last("CKQ") {
			return "8"
		}
		return "48"
	case 'L':
		return "5"
	case 'M', 'N':
		return "6"
	case 'R':
		return "7"
	case 'S', 'Z':
		return "8"
	}
	return "0" // A, E, I, J, O, U and Y
}
