package function

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// idlab returns a parameter of IDLab functions.
func idlab(names ...string) Parameter { return parameter(nsIDLab, names...) }

// idlabText is the first string of most functions of IDLab. Mappings also use
// its GREL name.
func idlabText() Parameter { return idlab("_str", "str").or(grelValue()) }

func idlabDelimiter() Parameter { return idlab("_delimiter", "delimiter").optional() }

// idlabFunction returns a function of IDLab. Its output is named after the type
// of its result. The older descriptions of functions on truth values name
// stringOut.
func idlabFunction(name string, result result, apply func(Call) ([]string, error), parameters ...Parameter) Function {
	f := Function{Namespace: nsIDLab, Name: name, Parameters: parameters, Datatypes: result.datatypes(), Apply: apply}
	output := "stringOut"
	switch result {
	case booleanResult:
		output = "boolOut"
	case listResult:
		output = "listOut"
	}
	for _, local := range []string{"_" + output, output, "o_" + output, "_stringOut", "stringOut"} {
		f.Outputs = append(f.Outputs, nsIDLab+local)
	}
	f.Outputs = append(f.Outputs, nsGREL+"stringOut", nsGREL+"stringOutput")
	return f
}

// idlabStrings are the functions of IDLab on strings.
func idlabStrings() []Function {
	other := idlab("_otherStr", "otherStr")
	return []Function{
		idlabFunction("alwaysReturnsABC", textResult, func(Call) ([]string, error) { return text("ABC") }),
		idlabFunction("toUpperCaseURL", textResult, func(c Call) ([]string, error) {
			upper := strings.ToUpper(c.Arg(0))
			if !strings.HasPrefix(upper, "HTTP://") && !strings.HasPrefix(upper, "HTTPS://") {
				upper = "http://" + upper
			}
			return text(upper)
		}, idlabText()),
		idlabFunction("concat", textResult, func(c Call) ([]string, error) {
			return join([]string{c.Arg(0), c.Arg(1)}, c.Arg(2))
		}, idlabText(), other, idlabDelimiter()),
		idlabFunction("concatSequence", textResult, func(c Call) ([]string, error) {
			return join(slices.Concat(c.Arguments[1:]...), c.Arg(0))
		}, sequence()...),
		idlabFunction("crossConcatSequence", listResult, func(c Call) ([]string, error) {
			return crossJoin(c.Arguments[1:], c.Arg(0))
		}, sequence()...),
		idlabFunction("slugify", textResult, func(c Call) ([]string, error) { return text(slugify(c.Arg(0))) }, idlabText()),
		idlabFunction("getMIMEType", textResult, func(c Call) ([]string, error) {
			if mediaType := guessMediaType(c.Arg(0)); mediaType != "" {
				return text(mediaType)
			}
			return nil, nil
		}, idlabText()),
		idlabFunction("random", textResult, func(Call) ([]string, error) { return text(randomUUID()) }),
	}
}

// idlabChoices are the functions of IDLab that compare values or return a value
// under a condition.
func idlabChoices() []Function {
	functions := []Function{
		idlabFunction("trueCondition", textResult, func(c Call) ([]string, error) {
			if !isTrue(c.Arg(0)) {
				return nil, nil
			}
			return text(c.Arg(1))
		}, idlab("_strBoolean", "strBoolean"), idlabText()),
		idlabFunction("decide", textResult, func(c Call) ([]string, error) {
			if c.Arg(0) != c.Arg(1) {
				return nil, nil
			}
			return text(c.Arg(2))
		}, idlabText(), idlab("_expectedStr", "expectedStr"), idlab("_result", "result")),
		idlabFunction("stringContainsOtherString", booleanResult, func(c Call) ([]string, error) {
			if c.Arg(2) == "" {
				return boolean(strings.Contains(c.Arg(0), c.Arg(1)))
			}
			return boolean(slices.Contains(strings.Split(c.Arg(0), c.Arg(2)), c.Arg(1)))
		}, idlabText(), idlab("_otherStr", "otherStr"), idlabDelimiter()),
		idlabFunction("listContainsElement", booleanResult, func(c Call) ([]string, error) {
			return boolean(slices.Contains(c.Arguments[0], c.Arg(1)))
		}, idlab("_list", "list").list(), idlabText()),
		idlabFunction("inRange", booleanResult, inRange, idlab("_test", "p_test").optional(),
			idlab("_from", "p_from").optional(), idlab("_to", "p_to").optional()),
		idlabFunction("IF", textResult, choose, choice(nsIDLab)...),
	}
	return append(functions, nullTests(nsIDLab)...)
}

// maxSequence is the most members that a sequence may be given in a mapping.
const maxSequence = 64

// sequence returns the parameters of a function on an rdf:Seq: the delimiter,
// and the members as one list or one by one.
func sequence() []Parameter {
	parameters := []Parameter{idlabDelimiter(), idlab("_seq", "seq").list().optional()}
	for i := range maxSequence {
		parameters = append(parameters, parameter(nsRDF, fmt.Sprintf("_%d", i+1)).list().optional())
	}
	return parameters
}

// crossJoin joins every combination of one value from each list, the last list
// changing first. Lists without values are skipped.
func crossJoin(lists [][]string, separator string) ([]string, error) {
	var combined []string
	for _, list := range lists {
		switch {
		case len(list) == 0:
			continue
		case combined == nil:
			combined = list
			continue
		}
		size := 0
		for _, s := range combined {
			size += len(s) + len(separator)
		}
		added := 0
		for _, s := range list {
			added += len(s)
		}
		if size*len(list)+added*len(combined)+ValueOverhead*len(list)*len(combined) > MaxText {
			return nil, TooLong()
		}
		next := make([]string, 0, len(combined)*len(list))
		for _, before := range combined {
			for _, s := range list {
				next = append(next, before+separator+s)
			}
		}
		combined = next
	}
	return combined, nil
}

// inRange reports whether a number is at least from and less than to. A missing
// bound does not restrict; a missing number is not in range.
func inRange(c Call) ([]string, error) {
	if !c.Has(0) {
		return boolean(false)
	}
	f, err := parseNumber(c.Arg(0))
	if err != nil {
		return nil, err
	}
	within := true
	for i, holds := range []func(bound float64) bool{
		func(b float64) bool { return f >= b },
		func(b float64) bool { return f < b },
	} {
		if !c.Has(i + 1) {
			continue
		}
		bound, err := parseNumber(c.Arg(i + 1))
		if err != nil {
			return nil, err
		}
		within = within && holds(bound)
	}
	return boolean(within)
}

// slugify keeps letters and digits of ASCII, in lower case and without accents,
// and replaces everything between them by dashes. An apostrophe does not
// separate words.
func slugify(s string) string {
	s = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ı",
		"i", "'", "", "’", "").Replace(strings.ToLower(norm.NFKC.String(s)))
	var b strings.Builder
	gap := false
	for _, r := range norm.NFD.String(s) {
		switch {
		case ('a' <= r && r <= 'z') || ('0' <= r && r <= '9'):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case r >= '\u0300' && r <= '\u036f': // an accent of the previous letter
		default:
			gap = true
		}
	}
	return b.String()
}

// randomUUID returns a UUID of version 4 (RFC 9562, section 5.4).
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// idlabDates are the functions of IDLab that convert dates to the form of XML
// Schema. Text that does not match its pattern has no result; an invalid
// pattern or an unknown language is an error.
func idlabDates() []Function {
	date, pattern := idlab("_strDate", "strDate"), idlab("_pattern", "pattern")
	language := idlab("_lang", "lang")
	normalize := func(timed bool) func(Call) ([]string, error) {
		return func(c Call) ([]string, error) {
			language := "en"
			if c.Has(2) {
				language = c.Arg(2)
			}
			return normalizeDate(c.Arg(0), c.Arg(1), language, timed)
		}
	}
	return []Function{
		idlabFunction("normalizeDate", textResult, normalize(false), date, pattern),
		idlabFunction("normalizeDateWithLang", textResult, normalize(false), date, pattern, language),
		idlabFunction("normalizeDateTime", textResult, normalize(true), date, pattern),
		idlabFunction("normalizeDateTimeWithLang", textResult, normalize(true), date, pattern, language),
	}
}

func normalizeDate(s, pattern, language string, timed bool) ([]string, error) {
	fields, err := datePattern(pattern)
	switch {
	case err != nil:
		return nil, err
	case !hasLetter(fields, "yu") || (!hasLetter(fields, "D") && !(hasLetter(fields, "ML") && hasLetter(fields, "d"))):
		return nil, fmt.Errorf("the date pattern %q has no year, month and day", pattern)
	case timed && !hasLetter(fields, "HkKh"):
		return nil, fmt.Errorf("the date pattern %q has no hour", pattern)
	}
	m, err := parseByPattern(s, pattern, language)
	switch {
	case errors.Is(err, errDateText):
		return nil, nil
	case err != nil:
		return nil, err
	}
	m.timed = timed
	return text(m.local())
}
