// Package function is the library of functions that every mapping may call:
// those of GREL and of IDLab. [ByIRI] returns it. A function takes text and
// returns text; it reads nothing but its arguments, except for the clock
// (date_now) and random numbers (math_randomNumber, random).
//
// A file holds one group of functions, as package rml lists them. To add a
// function, add it to the table of its group, and to natural.go when its result
// is not text.
package function
