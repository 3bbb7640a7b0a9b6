package rml_test

import "strings"

func arrayFunctions() []functionCase {
	array := func(name string, values []string, want string) functionCase {
		return functionCase{"grel:" + name, with("p_array_a", values), want}
	}
	abc := []string{"a", "b", "c"}
	return []functionCase{
		{
			"grel:array_join",
			with("param_a", abc, "param_string_sep", "/"),
			"a/b/c",
		}, {"grel:array_join", with("param_a", abc), "abc"},
		{"grel:array_join", with("param_a", []string{}, "p_string_sep", "/"), none},
		{"grel:array_join", with("param_a", "a", "param_a", "b", "p_string_sep", "/"), "a/b"},
		{
			"grel:array_join",
			with("param_a", strings.Split(strings.Repeat(",", 20_000), ","), "p_string_sep", strings.Repeat("x", 1000)),
			"!limit exceeded",
		},
		array("array_length", abc, "3"), array("array_length", []string{}, "0"),
		array("array_sum", []string{"10", "2.5", "three"}, "12.5"), array("array_sum", nil, "0"), array("array_sum",
			[]string{"1e308", "1e308"}, "!not a finite number"),
		{"grel:array_get", with("param_a", abc, "p_int_i_from", "1"), "b"}, {
			"grel:array_get",
			with("param_a", abc, "p_int_i_from", "-1"),
			"c",
		},
		{
			"grel:array_get",
			with("param_a", abc, "p_int_i_from", "1", "p_int_i_opt_to", "9"),
			"b|c",
		}, {"grel:array_get", with("param_a", abc, "p_int_i_from", "3"), none},
		{"grel:array_get", with("param_a", abc, "p_int_i_from", "x"), "!not an integer"},
		{"grel:array_slice", with("param_a", abc, "p_int_i_from", "1"), "b|c"}, {
			"grel:array_slice",
			with("param_a", abc, "p_int_i_from", "0", "p_int_i_opt_to", "-1"),
			"a|b",
		},
		{"grel:array_slice", with("param_a", abc, "p_int_i_from", "2", "p_int_i_opt_to", "1"), none},
		array("array_reverse", abc, "c|b|a"), array("array_reverse", nil, none),
		array("array_sort", []string{"al", "Joe", "Bob", "jim"},
			"Bob|Joe|al|jim"), array("array_sort", []string{"10", "9", "-1.5", "9"}, "-1.5|9|9|10"),
		array("array_uniques", []string{"al", "Joe", "Bob", "Joe", "Al", "Bob"}, "al|Joe|Bob|Al"),
	}
}

func numberFunctions() []functionCase {
	one := func(name, n, want string) functionCase {
		return functionCase{"grel:math_" + name, with("param_dec_n", n), want}
	}
	two := func(name, a, b, want string) functionCase {
		return functionCase{"grel:math_" + name, with("param_dec_n", a, "param_dec_n2", b), want}
	}
	whole := func(name, a, b, want string) functionCase {
		return functionCase{"grel:math_" + name, with("param_int_i", a, "param_int_i2", b), want}
	}
	return []functionCase{
		one("abs", "-6", "6"), one("abs", "x", `!"x" is not a number`), one("abs", "Infinity", "!not a number"), {
			"grel:math_abs",
			with("valueParam", "-1.5"),
			"1.5",
		},
		one("acos", "0", "1.5707963267948966"), one("acos", "2",
			"!not a finite number"), one("asin", "1", "1.5707963267948966"),
		one("atan", "1", "0.7853981633974483"), two("atan2", "1", "-1", "2.356194490192345"),
		one("ceil", "3.7", "4"), one("ceil", "-3.7",
			"-3"), one("ceil", "-0.5", "0"), one("floor", "3.7", "3"), one("floor", "-3.7", "-4"),
		one("round", "3.7", "4"), one("round", "-3.7",
			"-4"), one("round", "2.5", "3"), one("round", "-2.5", "-2"), one("round", "0.49999999999999994", "0"),
		one("cos", "0", "1"), one("cosh", "0",
			"1"), one("sin", "0", "0"), one("sinh", "0", "0"), one("tan", "0", "0"), one("tanh", "0", "0"), one("tanh",
			"1000", "1"),
		one("degrees", "3.141592653589793", "180"), one("radians", "10", "0.17453292519943295"),
		one("even", "5", "6"), one("even", "4", "4"), one("even", "4.1",
			"6"), one("even", "-3", "-2"), one("odd", "10", "11"), one("odd", "3", "3"), one("odd", "-4", "-3"),
		one("exp", "0", "1"), one("exp", "1000",
			"!not a finite number"), one("ln", "1", "0"), one("ln", "0", "!not a finite number"), one("log", "1000", "3"),
		two("max", "3", "10",
			"10"), two("min", "3", "10", "3"), two("mod", "74", "9", "2"), two("mod", "-7", "3", "2"), two("mod", "5.5",
			"2", "1.5"), two("mod", "1", "0", "!not a finite number"),
		two("pow", "2", "3", "8"), {
			"grel:math_pow",
			with("p_dec_n", "9", "param_dec_n_exp", "0.5"),
			"3",
		}, two("pow", "10", "400", "!not a finite number"),
		two("quotient", "9", "2", "4"), two("quotient", "-9", "2", "-4"), two("quotient", "1", "0",
			"!not a finite number"), two("max", "1", "b", "!not a number"),
		whole("combin", "20", "2", "190"), whole("combin", "2", "3", "0"), whole("combin", "-1", "3",
			"!below zero"), whole("combin", "100000000", "50000000", "!limit exceeded"),
		whole("factn", "10", "3", "280"), whole("factn", "10", "0", "!below one"), {
			"grel:math_fact",
			with("param_int_i", "5"),
			"120",
		},
		{
			"grel:math_fact",
			with("param_int_i", "25"),
			"15511210043330985984000000",
		}, {"grel:math_fact", with("param_int_i", "0"), "1"},
		{
			"grel:math_fact",
			with("param_int_i", "-1"),
			"!has no factorial",
		}, {"grel:math_fact", with("param_int_i", "2000"), "!limit exceeded"},
		{"grel:math_fact", with("param_int_i", "1.5"), "!not an integer"},
		whole("gcd", "95", "135", "5"), whole("gcd", "0", "-4", "4"), whole("lcm", "95", "135",
			"2565"), whole("lcm", "0", "3", "0"),
		whole("lcm", "9223372036854775807", "9223372036854775806",
			"85070591730234615838173535747377725442"), whole("gcd", "99999999999999999999", "1", "!not an integer of 64 bits"),
		{
			"grel:math_multinomial",
			with("param_a", []string{"2", "3"}),
			"10",
		}, {"grel:math_multinomial", with("param_a", []string{}), none},
		{
			"grel:math_multinomial",
			with("param_a", []string{"900", "900"}),
			"!limit exceeded",
		}, {"grel:math_multinomial", with("param_a", "-1"), "!below zero"},
		whole("randomNumber", "4", "4", "4"), whole("randomNumber", "5", "4", "!no number is at least 5"),
	}
}

func controlFunctions() []functionCase {
	flags := func(name, want string, flags ...string) functionCase {
		return functionCase{"grel:boolean_" + name, with("param_rep_b", flags), want}
	}
	return []functionCase{
		flags("and", "true", "true", "TRUE", "1"), flags("and", "false", "true", "no"), flags("and", none),
		{"grel:boolean_and", with("bool_array_b", "true", "bool_array_b", "false"), "false"},
		flags("or", "true", "false", "true"), flags("or", "false", "false", "0"), flags("xor", "true", "false",
			"true"), flags("xor", "false", "true", "true", "true"),
		{
			"grel:boolean_not",
			with("param_b", "true"),
			"false",
		}, {"grel:boolean_not", with("bool_b", "x"), "true"}, {"grel:boolean_not", with("bool_b", nil), none},
		{"grel:controls_if", with("param_b", "true", "param_true", "y", "param_false", "n"), "y"},
		{"grel:controls_if", with("bool_b", "false", "any_true", "y", "any_false", []string{"n", "m"}), "n|m"},
		{"grel:controls_if", with("bool_b", "false", "any_true", "y"), none}, {
			"grel:controls_if",
			with("bool_b", nil, "any_true", "y", "any_false", "n"),
			"n",
		},
		{"grel:IF", with("param_b", "1", "param_true", "y"), "y"}, {
			"idlab:IF",
			with("_strBoolean", "true", "_str", "y"),
			"y",
		},
		{"idlab:IF", with("boolParameter", "false", "expressionParameter", "y"), none},
		{
			"grel:other_coalesce",
			with("param_any_rep_e", nil, "p_any_rep_e", "b", "p_any_rep_e", "c"),
			"b",
		}, {"grel:other_coalesce", with("param_any_rep_e", nil), none},
		{"grel:other_type", with("param_any_e", "5"), "string"}, {"grel:other_type", with("param_any_e", nil), "undefined"},
		{"grel:other_type", with("p_any_e", []string{"a", "b"}), "array"},
		{"grel:other_hasField", with("param_any_e", `{"a":{"b":1}}`, "param_string_field", "a"), "true"},
		{
			"grel:other_hasField",
			with("param_any_e", `{"a":{"b":1}}`, "p_string_field", "b"),
			"false",
		}, {"grel:other_hasField", with("param_any_e", "x", "p_string_field", "b"), "false"},
		{"grel:isNull", with("valueParam", nil), "true"}, {"grel:isNull", with("valueParam", ""), "false"}, {
			"grel:controls_isNull",
			with("valueParam", nil),
			"true",
		},
		{
			"grel:isNotNull",
			with("valueParam", []string{"a", "b"}),
			"true",
		}, {"grel:controls_isNotNull", with("valueParam", nil), "false"},
		{"grel:equal", with("valueParam", "a", "valueParam2", "a"), "true"}, {
			"grel:equals",
			with("valueParam", "a", "valueParam2", "A"),
			"false",
		},
		{
			"grel:notEqual",
			with("valueParam", "a", "valueParam2", "a"),
			"false",
		}, {"grel:notEquals", with("valueParam", "a", "valueParam2", nil), "true"},
	}
}

func dateFunctions() []functionCase {
	toDate := func(value, pattern, want string) functionCase {
		return functionCase{"grel:date_toDate", with("valueParam", value, "param_string_pattern", pattern), want}
	}
	diff := func(a, b, unit, want string) functionCase {
		return functionCase{"grel:date_diff", with("p_datetime_d", a, "p_datetime_d2", b, "p_string_timeunit", unit), want}
	}
	inc := func(date, n, unit, want string) functionCase {
		return functionCase{"grel:date_inc", with("p_date_d", date, "p_dec_n", n, "p_string_unit", unit), want}
	}
	part := func(unit, want string) functionCase {
		return functionCase{
			"grel:date_datePart",
			with("p_date_d", "2014-03-14T05:30:04.789000123Z", "param_string_unit", unit),
			want,
		}
	}
	return []functionCase{
		toDate("11/09", "MM/yy", "2009-11-01"), toDate("Nov-09", "MMM-yy", "2009-11-01"), toDate("1/4/2012 13:30:00",
			"d/M/y H:m:s", "2012-04-01T13:30:00Z"),
		toDate("2026-01-31T12:00+0200", "yyyy-MM-dd'T'HH:mmZ",
			"2026-01-31T12:00:00+02:00"), toDate("12:05 am", "hh:mm a", "1970-01-01T00:05:00Z"),
		toDate("12:05 PM", "hh:mm a",
			"1970-01-01T12:05:00Z"), toDate("24:05", "kk:mm",
			"1970-01-01T00:05:00Z"), toDate("11 PM", "K a", "1970-01-01T23:00:00Z"),
		toDate("2026 059", "yyyy DDD", "2026-02-28"), toDate("Sat, 31 January 2026", "EEE, d MMMM yyyy",
			"2026-01-31"), toDate("20260131123456789", "yyyyMMddHHmmssSSS", "2026-01-31T12:34:56.789Z"),
		toDate("7 o'clock", "H' o''clock'", "1970-01-01T07:00:00Z"),
		toDate("Sun, 31 January 2026", "EEE, d MMMM yyyy",
			"!not a date of the pattern"), toDate("30.02.2026", "dd.MM.yyyy", "!not a date of the pattern"),
		toDate("13:00 PM", "hh:mm a", "!not a date of the pattern"), toDate("01.02.26", "dd.MM.yyyy",
			"!not a date of the pattern"), toDate("01.02.2026x", "dd.MM.yyyy", "!not a date of the pattern"),
		toDate("x", "yyyy-bb", "!has the letter b"), toDate("x", "yyyy'", "!a single quote is not closed"), toDate("x",
			strings.Repeat("y", 300), "!limit exceeded"),
		{"grel:date_toDate", with("valueParam", "2026-01-31"), "2026-01-31"}, {
			"grel:date_toDate",
			with("valueParam", "2026-01-31 12:00:00"),
			"2026-01-31T12:00:00Z",
		},
		{"grel:date_toDate", with("valueParam", "yesterday"), "!is not a date such as"},
		diff("2011-11-01", "2009-11-01", "weeks",
			"104"), diff("2009-11-01", "2011-11-01", "years", "-2"), diff("2026-03-30", "2026-01-31", "months", "1"),
		diff("2026-01-31", "2026-03-30", "month", "-1"), diff("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+02:00",
			"hours", "1"),
		diff("2026-01-01T00:00:01.25Z", "2026-01-01T00:00:00.5Z", "seconds", "0"), diff("2026-01-01T00:00:01.25Z",
			"2026-01-01T00:00:00.5Z", "milliseconds", "750"),
		diff("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01.25Z", "ms", "-750"), diff("2026-01-01T00:00:01.25Z",
			"2026-01-01T00:00:00Z", "nanos", "1250000000"),
		diff("9999-01-01", "0001-01-01", "days", "3651694"), diff("9999-01-01", "0001-01-01", "nanos", "!more than 64 bits"),
		diff("2026-01-01", "2026-01-02", "moons",
			"!the unit \"moons\" is not known"), diff("x", "2026-01-02", "days",
			"!is not a date"), diff("2026-01-02", "x", "days", "!is not a date"),
		inc("2026-01-31", "1", "month", "2026-02-28"), inc("2024-02-29", "-1", "years",
			"2023-02-28"), inc("2026-01-31", "2", "weeks", "2026-02-14"), inc("2026-01-31", "-31", "d", "2025-12-31"),
		inc("2026-01-31", "36", "hours", "2026-02-01T12:00:00Z"), inc("2026-01-31T10:00:00+02:00", "90", "minutes",
			"2026-01-31T11:30:00+02:00"), inc("2026-01-31T10:00:00Z", "1500", "ms", "2026-01-31T10:00:01.5Z"),
		{"grel:date_inc", with("p_date_d", "2026-01-31T10:00:00Z", "p_dec_n", "1"), "2026-01-31T11:00:00Z"},
		inc("2026-01-31", "8000", "years", "!not in the years 1 to 9999"), inc("2026-01-31", "9223372036854775807",
			"months", "!not in the years"), inc("2026-01-31", "-9223372036854775807", "weeks", "!not in the years"),
		inc("2026-01-31", "1.5", "days",
			"!not an integer"), inc("2026-01-31", "1", "moons", "!is not known"), inc("x", "1", "days", "!is not a date"),
		part("years", "2014"), part("month", "3"), part("weeks", "3"), part("d", "14"), part("weekday",
			"Friday"), part("hours", "5"), part("min", "30"), part("sec", "4"), part("s", "4"),
		part("milliseconds", "789"), part("S", "789"), part("nanos", "789000123"), part("time",
			"1394775004789"), part("moons", "!is not known"),
		{
			"grel:date_datePart",
			with("p_date_d", "2026-01-01T00:30:00+02:00", "param_string_unit", "year"),
			"2025",
		}, {"grel:date_datePart", with("p_date_d", "x", "param_string_unit", "year"), "!is not a date"},
	}
}

func idlabFunctions() []functionCase {
	str := func(name, value, want string) functionCase {
		return functionCase{"idlab:" + name, with("str", value), want}
	}
	normalize := func(name, value, pattern, want string) functionCase {
		return functionCase{"idlab:" + name, with("_strDate", value, "pattern", pattern), want}
	}
	lang := func(name, value, pattern, lang, want string) functionCase {
		return functionCase{"idlab:" + name, with("strDate", value, "_pattern", pattern, "_lang", lang), want}
	}
	inRange := func(test, from, to any, want string) functionCase {
		return functionCase{"idlab:inRange", with("p_test", test, "p_from", from, "_to", to), want}
	}
	return []functionCase{
		{"idlab:alwaysReturnsABC", nil, "ABC"},
		str("toUpperCaseURL", "http://example.com/venus",
			"HTTP://EXAMPLE.COM/VENUS"), str("toUpperCaseURL", "venus", "http://VENUS"), str("toUpperCaseURL", "https://a",
			"HTTPS://A"),
		{"idlab:equal", with("grel:valueParam", "a", "grel:valueParam2", "a"), "true"}, {
			"idlab:equal",
			with("grel:valueParam", "a", "grel:valueParam2", nil),
			"false",
		},
		{
			"idlab:equal",
			with("grel:valueParam", []string{"a", "b"}, "grel:valueParam2", "b"),
			"false|true",
		}, {"idlab:equal", with("grel:valueParam", nil, "grel:valueParam2", nil), "false"},
		{
			"idlab:notEqual",
			with("grel:valueParam", "a", "grel:valueParam2", "b"),
			"true",
		}, {"idlab:notEqual", with("grel:valueParam", nil, "grel:valueParam2", "b"), "true"},
		{"idlab:isNull", with("_str", nil), "true"}, str("isNull", "", "false"), {
			"idlab:isNotNull",
			with("_str", nil),
			"false",
		}, str("isNotNull", "a", "true"),
		{
			"idlab:trueCondition",
			with("strBoolean", "true", "str", "x"),
			"x",
		}, {"idlab:trueCondition", with("strBoolean", "yes", "str", "x"), none},
		{"idlab:decide", with("str", "a", "expectedStr", "a", "result", "r"), "r"}, {
			"idlab:decide",
			with("_str", "a", "_expectedStr", "b", "_result", "r"),
			none,
		},
		{
			"idlab:stringContainsOtherString",
			with("str", "a,bc", "otherStr", "bc", "delimiter", ","),
			"true",
		}, {"idlab:stringContainsOtherString", with("str", "a,bc", "otherStr", "b", "delimiter", ","), "false"},
		{"idlab:stringContainsOtherString", with("str", "a,bc", "otherStr", "b"), "true"},
		{
			"idlab:listContainsElement",
			with("list", []string{"a", "b"}, "str", "b"),
			"true",
		}, {"idlab:listContainsElement", with("list", []string{}, "str", "b"), "false"},
		{
			"idlab:concat",
			with("str", "a", "otherStr", "b", "delimiter", "-"),
			"a-b",
		}, {
			"idlab:concat",
			with("str", "a", "otherStr", "b"),
			"ab",
		}, {"idlab:concat", with("str", "a", "otherStr", nil), none},
		{
			"idlab:concatSequence",
			with("rdf:_2", "two", "rdf:_1", "one", "rdf:_10", "ten", "delimiter", ","),
			"one,two,ten",
		}, {"idlab:concatSequence", with("_seq", []string{"een", "twee"}), "eentwee"},
		{"idlab:concatSequence", with("_seq", nil), none},
		{
			"idlab:crossConcatSequence",
			with("rdf:_1", []string{"A", "The"}, "rdf:_2", []string{}, "rdf:_3", []string{"good", "early"}, "delimiter", "-"),
			"A-good|A-early|The-good|The-early",
		},
		{
			"idlab:crossConcatSequence",
			with("rdf:_1", "2", "rdf:_2", []string{"more", "many"}, "rdf:_3", "DJs", "delimiter", " "),
			"2 more DJs|2 many DJs",
		}, {"idlab:crossConcatSequence", nil, none},
		{
			"idlab:crossConcatSequence",
			with("rdf:_1", strings.Split(strings.Repeat("a ", 2000), " "), "rdf:_2",
				strings.Split(strings.Repeat("b ", 2000), " ")),
			"!limit exceeded",
		},
		inRange("5", "5", "6", "true"), inRange("6", "5", "6",
			"false"), inRange("4", "5", nil,
			"false"), inRange("4", nil, "5", "true"), inRange("4", nil, nil, "true"), inRange(nil, "1", "2", "false"),
		inRange("x", "1", "2", "!not a number"), inRange("1", "x", "2", "!not a number"),
		str("slugify", "Ben De Mééster", "ben-de-meester"), str("slugify", "  Łódź & 'Straße' №1! ",
			"lodz-strasse-no1"), str("slugify", "中", ""),
		str("getMIMEType", "a/b.TTL", "text/turtle"), str("getMIMEType", "x.tar.gz",
			"application/gzip"), str("getMIMEType", "x.unknown", none), str("getMIMEType", "README", none),
		normalize("normalizeDate", "20220121", "yyyyMMdd",
			"2022-01-21"), normalize("normalizeDate", "rubbish", "yyyyMMdd", none), normalize("normalizeDate", "31.02.2022",
			"dd.MM.yyyy", none),
		normalize("normalizeDate", "rubbish", "yodelahiti", "!has the letter o"), normalize("normalizeDate", "04/22",
			"MM/yy", "!has no year, month and day"),
		lang("normalizeDateWithLang", "01 April 22", "dd MMMM uu", "en",
			"2022-04-01"), lang("normalizeDateWithLang", "01 April 22", "dd MMMM uu", "fr", none),
		lang("normalizeDateWithLang", "01-avr.-22", "dd-MMM-yy", "fr-BE", "2022-04-01"), lang("normalizeDateWithLang",
			"1 października 2025", "d MMMM yyyy", "pl", "2025-10-01"),
		lang("normalizeDateWithLang", "3. März 2025", "d. MMMM yyyy", "de",
			"2025-03-03"), lang("normalizeDateWithLang", "x", "d MMMM yyyy", "tlh", "!the language \"tlh\""),
		normalize("normalizeDateTime", "20200521 17 14 33", "yyyyMMdd H m s",
			"2020-05-21T17:14:33"), normalize("normalizeDateTime", "20220124T09:36:04", "yyyyMMdd'T'HH:mm:ss",
			"2022-01-24T09:36:04"),
		normalize("normalizeDateTime", "01-Apr-20 9u4", "dd-MMM-yy H'u'm",
			"2020-04-01T09:04:00"), normalize("normalizeDateTime", "2020-05-21 10:00 +02:00", "yyyy-MM-dd HH:mm XXX",
			"2020-05-21T10:00:00+02:00"),
		normalize("normalizeDateTime", "20200521", "yyyyMMdd", "!has no hour"), lang("normalizeDateTimeWithLang",
			"20220121 7 14 33", "yyyyMMdd H m s", "en", "2022-01-21T07:14:33"),
	}
}
