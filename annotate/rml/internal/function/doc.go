// Package function is the library of functions that every mapping may call:
// those of GREL and of IDLab. [ByIRI] returns it. A function takes text and
// returns text; it reads nothing but its arguments, except for the clock
// (date_now) and random numbers (math_randomNumber, random).
//
// [Groups] returns the tables of functions. The documentation of package rml
// lists the same functions, and the tests of package rml have an example of each.
package function
