// Package jobform is the form in which people make a job: the fields that it has, the
// configuration that comes of them, and where in the form a fault of that configuration is.
// The configuration goes through the JSON of the REST interface, so that both say the same
// of a fault.
package jobform
