package xpath

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

func formatNumber(e *evaluation, _ focus, a []sequence) sequence {
	if len(a) > 2 && len(a[2]) > 0 {
		return e.fail("FODF1280", "the decimal format %q is not known: expected the default one", text(a[2]))
	}
	v := dbl(math.NaN())
	if len(a[0]) == 1 {
		v = a[0][0]
	}
	positive, negative, both := strings.Cut(text(a[1]), ";")
	minus := v.float() < 0 || (v.float() == 0 && math.Signbit(v.float()))
	picture := positive
	if minus && both {
		picture = negative
	}
	p, ok := parsePicture(picture)
	if _, valid := parsePicture(positive); !ok || !valid {
		return e.fail("FODF1310", "the picture %.40q is not valid", text(a[1]))
	}
	if minus && !both {
		p.prefix = "-" + p.prefix
	}
	switch f := v.float(); {
	case math.IsNaN(f):
		return e.oneText("NaN")
	case math.IsInf(f, 0):
		return e.oneText(p.prefix + "Infinity" + p.suffix)
	}
	r := new(big.Rat)
	if v.typ >= float {
		r.SetString(strconv.FormatFloat(v.f, 'g', -1, 64))
	} else {
		r.Set(v.rat())
	}
	return e.countedText(p.prefix + p.digits(r.Abs(r)) + p.suffix)
}

// picture is a sub-picture of format-number.
type picture struct {
	prefix, suffix string
	whole          int // the least digits before the point
	least, most    int // the digits after it
	group          int // the digits of a group, 0 for none
	factor         int64
}

// maxPicture is the most digits before the decimal point of a picture.
const maxPicture = 1000

// parsePicture reads a sub-picture without an exponent.
func parsePicture(s string) (picture, bool) {
	p := picture{factor: 1}
	first, last := strings.IndexAny(s, "0123456789#.,"), strings.LastIndexAny(s, "0123456789#.,")
	if first < 0 {
		return p, false
	}
	p.prefix = s[:first]
	p.suffix = s[last+1:]
	switch around := p.prefix + p.suffix; {
	case strings.Contains(around, "%"):
		p.factor = 100
	case strings.Contains(around, "‰"):
		p.factor = 1000
	}
	whole, fraction, _ := strings.Cut(s[first:last+1], ".")
	if at := strings.LastIndexByte(whole, ','); at >= 0 {
		p.group = len(whole) - at - 1
		whole = strings.ReplaceAll(whole, ",", "")
	}
	optional := len(whole) - len(strings.TrimLeft(whole, "#"))
	p.whole = len(whole) - optional
	p.most = len(fraction)
	p.least = len(strings.TrimRight(fraction, "#"))
	if p.whole == 0 && p.most == 0 {
		p.whole = 1
	}
	valid := strings.Trim(whole[optional:], "0123456789") == "" && strings.Trim(fraction[:p.least], "0123456789") == "" &&
		strings.Trim(fraction[p.least:], "#") == "" && len(whole)+len(fraction) > 0 && len(whole) <= maxPicture && p.most < 100
	if p.whole == 0 && p.least == 0 && p.most > 0 {
		p.least = 0
	}
	return p, valid
}

// digits writes a number that is not negative.
func (p *picture) digits(r *big.Rat) string {
	r = roundRat(new(big.Rat).Mul(r, new(big.Rat).SetInt64(p.factor)), int64(p.most), true)
	whole, fraction, _ := strings.Cut(r.FloatString(p.most), ".")
	for len(fraction) > p.least && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	whole = strings.TrimLeft(whole, "0")
	for len(whole) < p.whole {
		whole = "0" + whole
	}
	if whole == "" && fraction == "" {
		whole = "0"
	}
	if p.group > 0 {
		for at := len(whole) - p.group; at > 0; at -= p.group {
			whole = whole[:at] + "," + whole[at:]
		}
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

// formatDate writes a date or a time by a picture, in English.
func formatDate(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) == 0 {
		return nil
	}
	v, rest := a[0][0], text(a[1])
	var b strings.Builder
	for rest != "" {
		at := strings.IndexAny(rest, "[]")
		if at < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at])
		mark := rest[at]
		rest = rest[at+1:]
		if strings.HasPrefix(rest, string(mark)) {
			b.WriteByte(mark)
			rest = rest[1:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if mark == ']' || end < 0 {
			return e.fail("FOFD1340", "a bracket of the picture is not closed")
		}
		marker := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, rest[:end])
		rest = rest[end+1:]
		if marker == "" || !writeComponent(&b, v, marker[0], marker[1:]) {
			return e.fail("FOFD1340", "the component [%s] of the picture is not supported here", marker)
		}
	}
	return e.countedText(b.String())
}

// writeComponent writes one part of a date or a time.
func writeComponent(b *strings.Builder, v item, component byte, presentation string) bool {
	presentation, width, _ := strings.Cut(presentation, ",")
	t, n := v.t, 0
	ofDate := strings.IndexByte("YMDdFWwE", component) >= 0
	ofTime := strings.IndexByte("HhPmsf", component) >= 0
	if (ofDate && v.typ == timeAtom) || (ofTime && v.typ == dateAtom) {
		return false
	}
	switch component {
	case 'Y':
		n = max(t.Year(), -t.Year())
		if digits := len(presentation); digits == 2 || width == "2-2" || width == "2" {
			n %= 100
			presentation = "01"
		}
	case 'M':
		return writeName(b, presentation, "1", int(t.Month()), t.Month().String(), width)
	case 'D':
		n = t.Day()
	case 'd':
		n = t.YearDay()
	case 'F':
		if presentation == "" {
			presentation = "n"
		}
		return writeName(b, presentation, "n", (int(t.Weekday())+6)%7+1, t.Weekday().String(), width)
	case 'W':
		_, n = t.ISOWeek()
	case 'H':
		n = t.Hour()
	case 'h':
		n = (t.Hour()+11)%12 + 1
	case 'P':
		name := "a.m."
		if t.Hour() >= 12 {
			name = "p.m."
		}
		if presentation == "" {
			presentation = "n"
		}
		return writeName(b, presentation, "n", 0, name, width)
	case 'm', 's':
		n = t.Minute()
		if component == 's' {
			n = t.Second()
		}
		if presentation == "" {
			presentation = "01"
		}
	case 'f':
		digits := fmt.Sprintf("%09d", t.Nanosecond())
		if presentation == "" || presentation == "1" {
			digits = strings.TrimRight(digits[:3], "0")
			b.WriteString((digits + "0")[:max(len(digits), 1)])
			return true
		}
		b.WriteString(digits[:min(len(presentation), 9)])
		return true
	case 'Z', 'z':
		return writeZone(b, v, component == 'z', presentation)
	default:
		return false
	}
	return writeNumber(b, presentation, n)
}

// writeNumber writes a number with as many digits as the presentation, as an ordinal, or as words.
func writeNumber(b *strings.Builder, presentation string, n int) bool {
	digits := strings.TrimRight(presentation, "o")
	if strings.Trim(digits, "0123456789#") != "" {
		return false
	}
	fmt.Fprintf(b, "%0*d", len(strings.TrimLeft(digits, "#")), n)
	if strings.HasSuffix(presentation, "o") {
		ordinal := "th"
		if n%100 < 11 || n%100 > 13 {
			ordinal = [...]string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[n%10]
		}
		b.WriteString(ordinal)
	}
	return true
}

// writeName writes a name in the case that N, n or Nn asks for, or the number.
func writeName(b *strings.Builder, presentation, otherwise string, n int, name, width string) bool {
	if presentation == "" {
		presentation = otherwise
	}
	if _, most, ok := strings.Cut(width, "-"); ok {
		if limit, err := strconv.Atoi(most); err == nil && limit >= 3 && limit < len(name) {
			name = name[:3]
		}
	}
	switch presentation {
	case "N":
		b.WriteString(strings.ToUpper(name))
	case "n":
		b.WriteString(strings.ToLower(name))
	case "Nn":
		b.WriteString(strings.ToUpper(name[:1]) + name[1:])
	default:
		return writeNumber(b, presentation, n)
	}
	return true
}

// writeZone writes a time zone.
func writeZone(b *strings.Builder, v item, gmt bool, presentation string) bool {
	if !v.zone {
		return true
	}
	_, seconds := v.t.Zone()
	switch {
	case gmt:
		b.WriteString("GMT")
	case presentation != "" && presentation != "01:01" && presentation != "0101" && presentation != "01:01t":
		return false
	}
	if seconds == 0 && presentation == "01:01t" {
		b.WriteByte('Z')
		return true
	}
	layout := "-07:00"
	if presentation == "0101" {
		layout = "-0700"
	}
	b.WriteString(v.t.Format(layout))
	return true
}
