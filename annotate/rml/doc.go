// Package rml is an RML and CARML mapping engine for messages: it turns JSON,
// CSV and XML into RDF. Bytes go in, bytes come out; it knows no brokers and
// no HTTP.
//
// # Three steps
//
// [Load] reads a mapping in Turtle and checks it; what is wrong with it is a
// [*MappingError] that names the mapping node. [Compile] turns the mapping
// into a [Plan]: expressions are parsed, constants are rendered, and every
// logical source is resolved to an input. A plan is immutable and safe for
// concurrent use. A [Mapper] runs a plan: [Mapper.Append] maps one message,
// [Mapper.Run] maps whole files. A mapper keeps its buffers from message to
// message, so one goroutine at a time uses it, and what constants, references
// and templates give allocates nothing once the buffers have grown to the size
// of the messages.
//
// # Vocabularies
//
// The legacy vocabulary (rr, the rml of semweb.mmlab.be, ql, fnml and carml)
// and that of http://w3id.org/rml/ with its modules Core, IO, FNML, CC and LV
// may be mixed in one mapping. Where the two
// differ, each node follows the vocabulary it is written in: natural datatypes
// belong to the new one, a text that its datatype does not have is an error
// under the new one only, an iterator such as "$.list" or "$" that selects an
// array maps the elements of the array under the legacy one only, and a term that cannot be made (an IRI with a space,
// say) drops its statements under the legacy one and is an error under the new
// one. [Options].Strict makes it an error under both.
//
// # Errors
//
// A message is mapped whole or not at all: when Append returns an error, a
// [*MessageError] that names the mapping node and the place in the message,
// it has added nothing to the output.
//
// # Blank nodes
//
// Within one message equal expressions give equal blank nodes. Labels carry a
// digest of the message, so blank nodes of different messages never meet and
// the same message always gives the same labels. A batch run is one message.
//
// # Functions
//
// Mappings call functions in the form of RML-FNML (rml:functionExecution,
// rml:condition) and in the older one (fnml:functionValue). A [Function] of the
// program, given in [Options].Functions, stands beside the built-in ones and
// takes the place of one with the same IRI. Built in are, of GREL:
//
//   - strings: toLowerCase toUpperCase string_chomp string_contains string_diff
//     string_endsWith string_get string_indexOf string_lastIndexOf string_length
//     string_md5 string_replace string_replaceChars string_sha1
//     string_startsWith string_substring string_toNumber string_toString
//     string_toTitlecase string_trim
//   - parts: string_match string_partition string_rpartition string_smartSplit
//     string_split string_splitByCharType string_splitByLengths
//   - codes: escape string_unescape string_unicode string_phonetic (soundex,
//     cologne) string_reinterpret
//   - arrays: array_get array_join array_length array_reverse array_slice
//     array_sort array_sum array_uniques
//   - numbers: math_abs acos asin atan atan2 ceil combin cos cosh degrees even
//     exp fact factn floor gcd lcm ln log max min mod multinomial odd pow
//     quotient radians randomNumber round sin sinh tan tanh, each after math_
//   - dates: date_datePart date_diff date_inc date_now date_toDate
//   - choices: boolean_and boolean_not boolean_or boolean_xor controls_if
//     other_coalesce other_hasField other_type
//
// and of IDLab: alwaysReturnsABC concat concatSequence crossConcatSequence
// decide equal getMIMEType inRange isNull listContainsElement normalizeDate
// normalizeDateTime normalizeDateTimeWithLang normalizeDateWithLang notEqual
// random slugify stringContainsOtherString toUpperCaseURL trueCondition. What
// conditions need (isNull, isNotNull, equal or equals, notEqual or notEquals,
// IF) goes by the names of either namespace.
//
// Values reach a function as text. A parameter that is no list is taken value
// by value, and a call without the value of a parameter that it needs gives
// nothing. Positions count characters. Where GREL takes a string or a pattern,
// text between two slashes is a pattern in the syntax of package regexp. Dates
// are those of XML Schema, in UTC when they say nothing else; date patterns are
// those of Java. One call gives at most 16 MiB, and factorials have at most
// 1000 factors.
//
// In the new vocabulary a result has the natural datatype of its function where
// the mapping names neither datatype nor language: lengths and positions are
// xsd:integer, numbers xsd:integer or xsd:decimal, truth values xsd:boolean, and
// the date functions of GREL give xsd:date or xsd:dateTime.
//
// The same message gives the same output, unless its mapping calls date_now,
// math_randomNumber or random. The functions of IDLab that read files, call
// services or keep a state (readFile, lookup, dbpediaSpotlight,
// generateUniqueIRI, implicitCreate and their kin) are left out: a mapping is
// data, and must not reach outside of its message.
package rml
