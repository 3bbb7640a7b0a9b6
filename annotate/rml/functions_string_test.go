package rml_test

import "strings"

func stringFunctions() []functionCase {
	s := func(name, value, want string) functionCase {
		return functionCase{"grel:" + name, with("valueParam", value), want}
	}
	sub := func(name, value, sub, want string) functionCase {
		return functionCase{"grel:" + name, with("valueParameter", value, "param_string_sub", sub), want}
	}
	replace := func(name, value, find, replacement, want string) functionCase {
		return functionCase{"grel:" + name, with("valueParam", value, "param_find", find, "param_replace", replacement), want}
	}
	return []functionCase{
		s("toUpperCase", "straße 1",
			"STRASSE 1"), s("toUppercase", "a", "A"), s("toLowerCase", "ÉA", "éa"), s("toLowercase", "", ""),
		{"grel:toUpperCase", with("valueParam", nil), none},
		{"grel:toUpperCase", with("valueParam", []string{"a", "b"}), "A|B"},
		{"grel:toUpperCase", nil, "!needs the parameter"},
		{"grel:toUpperCase", with("valueParam", "a", "p_nothing", "b"), "!has no parameter"},
		s("string_toTitlecase", "Once upon a midnight DREARY",
			"Once Upon A Midnight Dreary"), s("toTitleCase", "élan  vital", "Élan  Vital"),
		s("string_trim", " \t island\n ", "island"), s("trim", "", ""),
		s("string_toString", "x", "x"), {"grel:string_toString", with("p_any_e", "12"), "12"},
		s("string_md5", "abc", "900150983cd24fb0d6963f7d28e17f72"), s("string_md5", "", "d41d8cd98f00b204e9800998ecf8427e"),
		s("string_sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
		sub("string_startsWith", "food", "foo", "true"), sub("string_startsWith", "food", "bar",
			"false"), sub("startsWith", "food", "", "true"),
		sub("string_endsWith", "food", "ood", "true"), sub("endsWith", "food", "odd", "false"),
		sub("string_contains", "food", "oo", "true"), sub("string_contains", "food", "ee",
			"false"), sub("contains", "a.c", "a.", "true"),
		sub("string_contains", "rose is a rose", `/\s+/`,
			"true"), sub("string_contains", "rose", "/^o/", "false"), sub("string_contains", "a/b", "/", "true"),
		sub("string_contains", "rose", "/(/",
			"!the pattern is not valid"), sub("string_contains", "aa", `/(a)\1/`, "!references back"),
		sub("string_contains", "a", "/"+strings.Repeat("a", 5000)+"/", "!the limit is 4096"),
		sub("string_indexOf", "internationalization", "nation",
			"5"), sub("string_indexOf", "éé😀x", "x", "3"), sub("string_indexOf", "a", "b", "-1"),
		sub("string_lastIndexOf", "parallel", "a",
			"3"), sub("string_lastIndexOf", "a", "b", "-1"), sub("string_lastIndexOf", "é-é", "é", "2"),
		s("string_length", "é😀x", "3"), s("string_length", "", "0"), s("length", "abc", "3"),
		{"grel:string_substring", with("valueParam", "profound", "p_int_i_from", "3"), "found"},
		{"grel:string_substring", with("valueParam", "profound", "p_int_i_from", "2", "p_int_i_opt_to", "4"), "of"},
		{
			"grel:string_substring",
			with("valueParam", "profound", "param_int_i_from", "1", "param_int_i_opt_to", "-1"),
			"rofoun",
		},
		{"grel:string_substring", with("valueParam", "profound", "p_int_i_from", "-3"), "und"},
		{"grel:string_substring", with("valueParam", "é😀x", "p_int_i_from", "1", "p_int_i_opt_to", "2"), "😀"},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "3"), ""},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "4"), none},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "-4"), none},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "9223372036854775807"), none},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "2", "p_int_i_opt_to", "1"), none},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "1", "p_int_i_opt_to", "100"), "bc"},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "1.0"), "bc"},
		{"grel:string_substring", with("valueParam", "abc", "p_int_i_from", "one"), `!the position "one" is not an integer`},
		{"grel:string_get", with("valueParam", "abc", "p_int_i_from", "1"), "b"},
		{"grel:string_get", with("valueParam", "abc", "p_int_i_from", "3"), none},
		{"grel:string_get", with("valueParam", "abc", "p_int_i_from", "0", "p_int_i_opt_to", "2"), "ab"},
		replace("string_replace", "The cow jumps over the moon and moos", "oo", "ee", "The cow jumps over the meen and mees"),
		replace("string_replace", "The cow  jumps", `/\s+/`, "_", "The_cow_jumps"),
		replace("string_replace", "2026-01-31", `/(\d+)-(\d+)-(\d+)/`, "$3.$2.$1", "31.01.2026"),
		replace("string_replace", "ab", `/(?P<x>a)(y)?/`, `[${x}$2\$1$10]`, "[a$1a0]b"),
		replace("string_replace", "a.b", ".", "$1", "a$1b"), replace("string_replace", "ab", "", "-", "-a-b-"),
		replace("string_replace", "ab", "/a/", "$2", "!names a group that the pattern does not have"),
		replace("string_replace", "ab", "/a/", "${x", "!names a group that the pattern does not have"),
		replace("string_replace", strings.Repeat("a", 100_000), "a", strings.Repeat("b", 1000), "!limit exceeded"),
		replace("string_replace", strings.Repeat("a", 100_000), "/a/", strings.Repeat("b", 1000), "!limit exceeded"),
		replace("string_replaceChars", "Téxt thát was optícálly recógnízéd", "áéíóú", "aeiou",
			"Text that was optically recognized"),
		replace("string_replaceChars", "ab", "ab", "ba", "ba"), replace("string_replaceChars", "ab", "ab", "b",
			"!expected as many"),
		{"grel:string_chomp", with("valueParam", "barely", "param_string_sep", "ly"), "bare"},
		{"grel:string_chomp", with("valueParam", "bare", "p_string_sep", "ly"), "bare"},
		{"grel:string_diff", with("valueParam", "cacti", "valueParam2", "cactus"), "us"},
		{"grel:string_diff", with("valueParam", "é", "valueParam2", "è"), "è"},
		{"grel:string_diff", with("valueParam", "ab", "valueParam2", "ab"), ""},
		{"grel:string_diff", with("valueParam", "abc", "valueParam2", "ab"), ""},
		{"grel:string_diff", with("valueParam", "", "valueParam2", "ab"), "ab"},
		s("string_toNumber", " 007.50 ", "7.5"), s("string_toNumber", "-0.0", "0"), s("string_toNumber",
			"+12345678901234567890", "12345678901234567890"),
		s("string_toNumber", "1.5e3", "1500"), s("string_toNumber", ".5", "0.5"),
		s("string_toNumber", "NaN", "!not a number"), s("string_toNumber", "0x10",
			"!not a number"), s("string_toNumber", "", "!not a number"),
	}
}

func partFunctions() []functionCase {
	sep := func(name, value, sep, want string) functionCase {
		return functionCase{"grel:" + name, with("valueParam", value, "param_string_sep", sep), want}
	}
	return []functionCase{
		sep("string_split", "fire, water, earth", ",",
			"fire| water| earth"), sep("string_split", "a,,b,", ",", "a|b"), sep("split", "a", ",", "a"),
		sep("string_split", "a1b22c", `/\d+/`,
			"a|b|c"), sep("string_split", "a.b", ".", "a|b"), sep("string_split", "", ",", none),
		sep("string_split", "a", "", "!the separator is empty"), sep("string_split", "a", "/[/", "!not valid"),
		{"grel:string_split", with("valueParam", "a,,b,", "param_string_sep", ",", "param_bool_opt_b", "true"), "a||b|"},
		{"grel:string_smartSplit", with("valueParam", `a,"b,""c""",d\,e,`), `a|b,"c"|d,e|`},
		{"grel:string_smartSplit", with("valueParam", "a,b\tc\td"), "a,b|c|d"},
		{"grel:string_smartSplit", with("valueParam", "a::b", "param_opt_sep", "::"), "a|b"},
		{"grel:string_smartSplit", with("valueParam", "a1b", "p_opt_sep", `/\d/`), "a|b"},
		{"grel:string_smartSplit", with("valueParam", `a,"b`), "!nothing closes"},
		{
			"grel:string_splitByLengths",
			with("valueParam", "internationalization", "param_int_i", "5", "param_int_i2", "6", "param_int_rep_i", "3"),
			"inter|nation|ali",
		},
		{"grel:string_splitByLengths", with("valueParam", "éàx", "p_int_i", []string{"1", "9", "2"}), "é|àx"},
		{"grel:string_splitByLengths", with("valueParam", "abc", "p_int_i", "-1"), "!below zero"},
		{"grel:string_splitByLengths", with("valueParam", "abc", "p_int_i", "x"), "!not an integer"},
		{"grel:string_splitByCharType", with("valueParam", "HenryCTaylor"), "H|enry|CT|aylor"},
		{"grel:string_splitByCharType", with("valueParam", "BE1A3E"), "BE|1|A|3|E"},
		{"grel:string_splitByCharType", with("valueParam", "é 中€"), "é| |中|€"},
		{"grel:string_splitByCharType", with("valueParam", ""), none},
		{
			"grel:string_partition",
			with("valueParam", "internationalization", "param_fragment", "nation"),
			"inter|nation|alization",
		},
		{
			"grel:string_partition",
			with("valueParam", "internationalization", "p_fragment", "nation", "param_bool_opt_b", "true"),
			"inter|alization",
		},
		{"grel:string_partition", with("valueParam", "abcdefgh", "param_fragment", "/c.e/"), "ab|cde|fgh"},
		{"grel:string_partition", with("valueParam", "abc", "param_fragment", "x"), "abc||"},
		{"grel:string_partition", with("valueParam", "abc", "param_fragment", "/(/"), "!not valid"},
		{"grel:string_rpartition", with("valueParam", "parallel", "param_fragment", "a"), "par|a|llel"},
		{"grel:string_rpartition", with("valueParam", "a1b2c", "param_fragment", `/\d/`), "a1b|2|c"},
		{"grel:string_rpartition", with("valueParam", "abc", "param_fragment", "/x/", "p_bool_opt_b", "true"), "abc|"},
		{"grel:string_match", with("valueParam", "230.22398, 12.3480", "param_regex", `/.*(\d\d\d\d)/`), "3480"},
		{
			"grel:string_match",
			with("valueParam", "hello 123456 goodbye", "p_string_regex", `/(.*)(\d{6})(.*)/`),
			"hello |123456| goodbye",
		},
		{"grel:string_match", with("valueParam", "hello 123456 goodbye", "p_string_regex", `\d{6}`), none},
		{"grel:string_match", with("valueParam", "a", "p_string_regex", `/(a)|(b)/`), "a|"},
		{"grel:string_match", with("valueParam", "ab", "p_string_regex", `/(a)|(b)/`), none},
		{"grel:string_match", with("valueParam", "ab", "p_string_regex", `/(/`), "!not valid"},
	}
}

func codeFunctions() []functionCase {
	escape := func(mode, value, want string) functionCase {
		return functionCase{"grel:escape", with("valueParam", value, "modeParam", mode), want}
	}
	unescape := func(mode, value, want string) functionCase {
		return functionCase{"grel:string_unescape", with("valueParam", value, "modeParameter", mode), want}
	}
	phonetic := func(method, value, want string) functionCase {
		return functionCase{"grel:string_phonetic", with("valueParam", value, "param_string_encoding", method), want}
	}
	return []functionCase{
		escape("html", `A&B <"it's" é>`, `A&amp;B &lt;&quot;it's&quot; é&gt;`), escape("XML", `'&`, `&apos;&amp;`),
		escape("csv", `a,"b"`, `"a,""b"""`), escape("csv", "plain", "plain"), escape("url", "a b/é?~", "a%20b%2F%C3%A9%3F~"),
		escape("javascript", "a'\"\\/\n\u0001é😀",
			`a\'\"\\\/\n\u0001\u00E9\uD83D\uDE00`), escape("sql", "x", "!the mode \"sql\" is not known"),
		unescape("html", "&eacute;&amp;&#39;", "é&'"), unescape("xml", "&eacute;&amp;&#x39;& &lt", "&eacute;&9& &lt"),
		unescape("csv", `"a,""b"""`, `a,"b"`), unescape("csv", `"`, `"`), unescape("url", "a+b%20%C3%A9",
			"a b é"), unescape("url", "%zz", "!unescape"),
		unescape("url", "%ff", "!not UTF-8"),
		unescape("javascript", `say "hi"\n\x41\u00e9\u{1F600}\uD83D\uDE00\q\v`, "say \"hi\"\nAé😀😀q\v"),
		unescape("javascript", `a\`, "!JavaScript"), unescape("javascript", `\uD83D`,
			"!JavaScript"), unescape("javascript", `\u{}`, "!JavaScript"),
		unescape("javascript", `\u{FFFFFFFF}`,
			"!JavaScript"), unescape("javascript", `\uD83D\u`, "!JavaScript"), unescape("javascript", `\x4`, "!JavaScript"),
		unescape("nothing", "x", "!is not known"),
		{
			"grel:string_unicode",
			with("valueParam", "Aé😀"),
			"65|233|128512",
		}, {"grel:string_unicode", with("valueParam", ""), none},
		phonetic("soundex", "Robert", "R163"), phonetic("soundex", "Tymczak", "T522"), phonetic("soundex", "Pfister", "P236"),
		phonetic("soundex", "Ashcraft",
			"A261"), phonetic("soundex", "Honeyman",
			"H555"), phonetic("soundex", "Müller", "M460"), phonetic("soundex", "123", ""),
		phonetic("cologne", "Müller-Lüdenscheidt",
			"65752682"), phonetic("cologne", "Wikipedia", "3412"), phonetic("cologne", "Breschnew", "17863"),
		phonetic("cologne", "Xaver Phlox Caesar Rix", "4837354848748"), phonetic("cologne", "", ""),
		phonetic("metaphone", "x", "!is not known: expected soundex or cologne"),
		{
			"grel:string_reinterpret",
			with("valueParam", "Ã©", "param_string_encoder", "UTF-8", "param_string_encoder2", "ISO-8859-1"),
			"é",
		},
		{"grel:string_reinterpret", with("valueParam", "é", "p_string_encoder", "windows-1252"), "Ã©"},
		{"grel:string_reinterpret", with("valueParam", "é", "p_string_encoder", "utf8"), "é"},
		{
			"grel:string_reinterpret",
			with("valueParam", "é", "p_string_encoder", "utf-8", "param_string_encoder2", "latin1"),
			"!are not text in utf-8",
		},
		{
			"grel:string_reinterpret",
			with("valueParam", "中", "p_string_encoder", "utf-8", "param_string_encoder2", "latin1"),
			"!cannot be written in latin1",
		},
		{
			"grel:string_reinterpret",
			with("valueParam", "é", "p_string_encoder", "klingon"),
			"!the encoding \"klingon\" is not known",
		},
	}
}
