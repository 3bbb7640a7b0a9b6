// Package rml is an RML and CARML mapping engine for messages: it turns JSON,
// CSV and XML into RDF. It reads and writes bytes and links neither brokers nor
// HTTP.
//
// # Three steps
//
// [Load] reads a mapping in Turtle and checks it. Its errors are a
// [*MappingError] that names the mapping node. [Compile] turns the mapping into
// a [Plan]: expressions are parsed, constants are rendered, and every logical
// source is resolved to an input. A plan is immutable and safe for concurrent
// use. A [Mapper] runs a plan: [Mapper.Append] maps one message, [Mapper.Run]
// maps whole files. A mapper keeps its buffers from message to message, so only
// one goroutine at a time may use it. Once the buffers have grown to the size
// of the messages, constants, references and templates allocate nothing.
//
// # Vocabularies
//
// The legacy vocabulary (rr, the rml of semweb.mmlab.be, ql, fnml and carml) and that of
// http://w3id.org/rml/ with its modules Core, IO, FNML, CC and LV may be mixed in one mapping.
// Where the two differ, each node follows the vocabulary it is written in: natural datatypes of
// references belong to the new one, text outside the lexical space of its datatype that is not a
// number of another notation, such as 25.0 for xsd:integer, is an error under the new one only,
// an iterator such as "$.list" or "$" that selects an array maps the elements of the array under
// the legacy one only, and a term that cannot be generated (an IRI with a space, say) drops its
// statements under the legacy one and is an error under the new one. With [Options].Strict it is an
// error under both.
//
// # Errors
//
// A message is mapped whole or not at all: when Append returns an error, a
// [*MessageError] that names the mapping node and the place in the message,
// it has added nothing to the output.
//
// # Blank nodes
//
// Within one message equal expressions give equal blank nodes. Labels contain a
// digest of the message, so blank nodes of different messages never share a
// label, and the same message always has the same labels. A batch run is one
// message.
//
// # Functions
//
// Mappings call functions in the form of RML-FNML (rml:functionExecution,
// rml:condition) and in the older one (fnml:functionValue). A [Function] of the
// program, given in [Options].Functions, is available beside the built-in ones
// and replaces one with the same IRI. The built-in functions are those of GREL and
// of IDLab, here with their aliases in parentheses:
//
//   - strings: string_chomp, string_contains (contains), string_diff,
//     string_endsWith (endsWith), string_get, string_indexOf,
//     string_lastIndexOf, string_length (length), string_md5, string_replace,
//     string_replaceChars, string_sha1, string_startsWith (startsWith),
//     string_substring, string_toNumber, string_toString, string_toTitlecase
//     (toTitleCase, toTitlecase), string_trim (trim), toLowerCase (toLowercase),
//     toUpperCase (toUppercase)
//   - parts: string_match, string_partition, string_rpartition,
//     string_smartSplit, string_split (split), string_splitByCharType,
//     string_splitByLengths
//   - codes: escape (string_escape), string_phonetic, string_reinterpret,
//     string_unescape (unescape), string_unicode
//   - arrays: array_get, array_join, array_length, array_reverse, array_slice,
//     array_sort, array_sum, array_uniques
//   - numbers: math_abs, math_acos, math_asin, math_atan, math_atan2, math_ceil,
//     math_combin, math_cos, math_cosh, math_degrees, math_even, math_exp,
//     math_fact, math_factn, math_floor, math_gcd, math_lcm, math_ln, math_log,
//     math_max, math_min, math_mod, math_multinomial, math_odd, math_pow,
//     math_quotient, math_radians, math_randomNumber, math_round, math_sin,
//     math_sinh, math_tan, math_tanh
//   - dates: date_datePart, date_diff, date_inc, date_now, date_toDate
//   - choices: boolean_and, boolean_not, boolean_or, boolean_xor, controls_if
//     (IF, if), equal (equals), isNotNull (controls_isNotNull), isNull
//     (controls_isNull), notEqual (notEquals), other_coalesce, other_hasField,
//     other_type
//   - IDLab: IF, alwaysReturnsABC, concat, concatSequence, crossConcatSequence,
//     decide, equal (equals), getMIMEType, inRange, isNotNull
//     (controls_isNotNull), isNull (controls_isNull), listContainsElement,
//     normalizeDate, normalizeDateTime, normalizeDateTimeWithLang,
//     normalizeDateWithLang, notEqual (notEquals), random, slugify,
//     stringContainsOtherString, toUpperCaseURL, trueCondition
//
// The functions for conditions (isNull, isNotNull, equal, notEqual, IF) exist in
// both namespaces. The functions of IDLab, their parameters and outputs also have
// the names of their older namespace, http://example.com/idlab/function/.
// string_phonetic computes codes by the methods soundex and cologne.
//
// Values are passed to a function as text. If a parameter that is not a list
// has several values, the function is called for each. A call without the value
// of a required parameter has no result. Positions count characters. Where GREL
// takes a string or a pattern, text between two slashes is a pattern in the
// syntax of package regexp. Dates are those of XML Schema, in UTC unless they
// have an offset; date patterns are those of Java. The result of one call has
// at most 16 MiB, and factorials have at most 1000 factors.
//
// A result has the natural datatype of its function where the mapping names
// neither datatype nor language, under both vocabularies: lengths and positions are
// xsd:integer, numbers xsd:integer or xsd:decimal, truth values xsd:boolean, and
// the date functions of GREL give xsd:date or xsd:dateTime.
//
// The same message gives the same output, unless its mapping calls date_now,
// math_randomNumber or random. The functions of IDLab that read files, call
// services or keep a state (readFile, lookup, dbpediaSpotlight,
// generateUniqueIRI, implicitCreate and similar ones) are left out: a mapping
// is data, and must not access anything but its message.
package rml
