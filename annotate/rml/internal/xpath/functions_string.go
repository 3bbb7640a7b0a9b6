package xpath

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// stringFunctions are the functions of section 5 of Functions and Operators, without regular
// expressions.
func stringFunctions() map[string]function {
	return map[string]function{
		"string": def("| I?", func(e *evaluation, f focus, a []sequence) sequence {
			return e.oneText(e.toText(e.contextOr(f, a, 0)))
		}).reaching(inFocus),
		"upper-case":    def("s?", changed(func(s string) string { return cases.Upper(language.Und).String(s) })),
		"lower-case":    def("s?", changed(func(s string) string { return cases.Lower(language.Und, cases.HandleFinalSigma(false)).String(s) })),
		"concat":        def("a? a? …", concat),
		"string-join":   def("a* | s", stringJoin),
		"substring":     def("s? d | d", substring),
		"string-length": def("| s?", stringLength).reaching(inFocus),
		"normalize-space": def("| s?", func(e *evaluation, f focus, a []sequence) sequence {
			return e.countedText(collapse(e.toText(e.contextOr(f, a, 0))))
		}).reaching(inFocus),
		"normalize-unicode": def("s? | s", normalizeUnicode),
		"translate":         def("s? s s", translate),
		"contains":          def("s? s? | s", ofTwo(strings.Contains)),
		"starts-with":       def("s? s? | s", ofTwo(strings.HasPrefix)),
		"ends-with":         def("s? s? | s", ofTwo(strings.HasSuffix)),
		"contains-token":    def("s* s | s", containsToken),
		"substring-before": def("s? s? | s", func(e *evaluation, _ focus, a []sequence) sequence {
			before, _, found := strings.Cut(text(a[0]), text(a[1]))
			if !found || !e.collation(a, 2) {
				before = ""
			}
			return e.countedText(before)
		}),
		"substring-after": def("s? s? | s", func(e *evaluation, _ focus, a []sequence) sequence {
			_, after, _ := strings.Cut(text(a[0]), text(a[1]))
			e.collation(a, 2)
			return e.countedText(after)
		}),
		"compare": def("s? s? | s", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 || len(a[1]) == 0 || !e.collation(a, 2) {
				return nil
			}
			e.spendText(min(len(a[0][0].s), len(a[1][0].s)))
			return e.unit(integral(int64(strings.Compare(a[0][0].s, a[1][0].s))))
		}),
		"codepoint-equal": def("s? s?", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 || len(a[1]) == 0 || !e.spendText(min(len(a[0][0].s), len(a[1][0].s))) {
				return nil
			}
			return aTruth(a[0][0].s == a[1][0].s)
		}),
		"codepoints-to-string": def("i*", codepointsToString),
		"string-to-codepoints": def("s?", func(e *evaluation, _ focus, a []sequence) sequence {
			var out sequence
			for _, r := range text(a[0]) {
				if !e.holdItems(1) {
					return nil
				}
				out = append(out, integral(int64(r)))
			}
			return out
		}),
		"encode-for-uri":    def("s?", changed(func(s string) string { return escapeBytes(s, unreserved) })),
		"iri-to-uri":        def("s?", changed(func(s string) string { return escapeBytes(s, inURI) })),
		"escape-html-uri":   def("s?", changed(func(s string) string { return escapeBytes(s, printable) })),
		"default-collation": def("", func(e *evaluation, _ focus, _ []sequence) sequence { return e.oneText(codepointCollation) }),
		"implicit-timezone": def("", func(e *evaluation, _ focus, _ []sequence) sequence { return e.unit(item{typ: dayTime}) }),
		"error":             def("| a? s I*", raise),
		"trace":             nodeFunction("I* | s", func(_ *evaluation, _ focus, a []sequence) sequence { return a[0] }),
		"exactly-one":       nodeFunction("I*", counted(1, 1, "FORG0005")),
		"one-or-more":       nodeFunction("I*", counted(1, math.MaxInt, "FORG0004")),
		"zero-or-one":       nodeFunction("I*", counted(0, 1, "FORG0003")),
		"unordered":         nodeFunction("I*", func(_ *evaluation, _ focus, a []sequence) sequence { return a[0] }),
	}
}

// changed returns a function of a string, where nothing counts as an empty one.
func changed(change func(string) string) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		s := text(a[0])
		e.spendText(len(s))
		return e.countedText(change(s))
	}
}

// ofTwo returns a function of two strings.
func ofTwo(test func(s, t string) bool) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		s, t := text(a[0]), text(a[1])
		if !e.spendText(len(s)+len(t)) || !e.collation(a, 2) {
			return nil
		}
		return aTruth(test(s, t))
	}
}

// counted returns a function that returns its argument if that has a number of items.
func counted(least, most int, code string) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		if n := len(a[0]); n < least || n > most {
			return e.fail(code, "the argument has %d items", n)
		}
		return a[0]
	}
}

// raise fails with the text of its second argument.
func raise(e *evaluation, _ focus, a []sequence) sequence {
	reason := "the expression calls error()"
	if len(a) > 1 {
		reason = text(a[1])
	}
	return e.fail("FOER0000", "%s", reason)
}

func concat(e *evaluation, _ focus, a []sequence) sequence {
	var room [64]byte
	b := room[:0]
	for _, arg := range a {
		s := e.toText(arg)
		if !e.holdText(len(s)) {
			return nil
		}
		b = append(b, s...)
	}
	return e.oneText(string(b))
}

func stringJoin(e *evaluation, _ focus, a []sequence) sequence {
	separator := ""
	if len(a) > 1 {
		separator = text(a[1])
	}
	var b strings.Builder
	for i, v := range a[0] {
		s := e.text(v)
		if i > 0 {
			b.WriteString(separator)
		}
		if !e.holdText(len(s) + len(separator)) {
			return nil
		}
		b.WriteString(s)
	}
	return e.oneText(b.String())
}

// roundHalfUp rounds to the nearest integer, halves towards infinity.
func roundHalfUp(f float64) float64 {
	if math.Abs(f) >= 1<<52 || math.IsNaN(f) {
		return f
	}
	down := math.Floor(f)
	if f-down >= 0.5 {
		down++
	}
	return math.Copysign(down, f)
}

func substring(e *evaluation, _ focus, a []sequence) sequence {
	from, to := roundHalfUp(a[1][0].f), math.Inf(1)
	if len(a) == 3 {
		to = from + roundHalfUp(a[2][0].f)
	}
	s := text(a[0])
	e.spendText(len(s))
	start := len(s)
	end := len(s)
	position := 0.0
	for i := range s {
		position++
		if start == len(s) && position >= from && position < to {
			start = i
		}
		if start < len(s) && !(position < to) {
			end = i
			break
		}
	}
	return e.countedText(s[start:end])
}

func stringLength(e *evaluation, f focus, a []sequence) sequence {
	s := e.toText(e.contextOr(f, a, 0))
	e.spendText(len(s))
	return e.unit(integral(int64(utf8.RuneCountInString(s))))
}

// mostNormalized is how many times as long a text can become: U+FDFA has 3 bytes, and 33 in the form NFKC.
const mostNormalized = 11

func normalizeUnicode(e *evaluation, _ focus, a []sequence) sequence {
	s, form := text(a[0]), "NFC"
	if len(a) > 1 {
		form = strings.ToUpper(strings.Trim(text(a[1]), blanks))
	}
	room := e.room
	if !e.spendText(4*len(s)) || !e.hold(mostNormalized*len(s)) {
		return nil
	}
	e.room = room
	switch form {
	case "":
		return e.countedText(s)
	case "NFC":
		return e.countedText(norm.NFC.String(s))
	case "NFD":
		return e.countedText(norm.NFD.String(s))
	case "NFKC":
		return e.countedText(norm.NFKC.String(s))
	case "NFKD":
		return e.countedText(norm.NFKD.String(s))
	}
	return e.fail("FOCH0003", "the normalization form %q is not supported; there are NFC, NFD, NFKC and NFKD", form)
}

func translate(e *evaluation, _ focus, a []sequence) sequence {
	s, from := text(a[0]), text(a[1])
	if !e.spendText(len(s)+len(text(a[2]))) || !e.spend(len(from)) || !e.hold(entryBytes*len(from)+4*len(text(a[2]))) {
		return nil
	}
	to := []rune(text(a[2]))
	table := map[rune]rune{}
	i := 0
	for _, r := range from {
		if _, twice := table[r]; !twice {
			table[r] = -1
			if i < len(to) {
				table[r] = to[i]
			}
		}
		i++
	}
	return e.countedText(strings.Map(func(r rune) rune {
		if other, ok := table[r]; ok {
			return other
		}
		return r
	}, s))
}

func containsToken(e *evaluation, _ focus, a []sequence) sequence {
	token := strings.Trim(text(a[1]), blanks)
	found := false
	for _, v := range a[0] {
		if !e.spendText(len(v.s)) {
			return nil
		}
		for field := range strings.FieldsFuncSeq(v.s, isBlank) {
			found = found || field == token
		}
	}
	return aTruth(found && token != "" && e.collation(a, 2))
}

func codepointsToString(e *evaluation, _ focus, a []sequence) sequence {
	var b strings.Builder
	for _, v := range a[0] {
		r := rune(v.n)
		if int64(r) != v.n || !isChar(r) {
			return e.fail("FOCH0001", "%d is not the code point of a character of XML", v.n)
		}
		b.WriteRune(r)
	}
	return e.countedText(b.String())
}

// isChar reports whether a rune is a character of XML 1.0.
func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' ||
		(r >= 0x20 && r <= 0xD7FF) || (r >= 0xE000 && r <= 0xFFFD) || (r >= 0x10000 && r <= utf8.MaxRune)
}

// unreserved, inURI and printable report which bytes of a text are not escaped.
func unreserved(b byte) bool {
	return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || strings.IndexByte("-_.~", b) >= 0
}

func inURI(b byte) bool { return b > 0x20 && b < 0x7F && strings.IndexByte("<>\"{}|\\^`", b) < 0 }

func printable(b byte) bool { return b >= 0x20 && b < 0x7F }

// escapeBytes writes each byte that is not kept as a percent sign and two digits.
func escapeBytes(s string, kept func(byte) bool) string {
	var out strings.Builder
	for i := range len(s) {
		if b := s[i]; kept(b) {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}
