// Package suggest writes a first mapping for a sample message: what a person would type
// before the interesting part begins. It finds the records of the message, a subject for
// each, and a property for each of their values, with datatypes that the values have.
//
// The vocabulary of the suggestion is that of the namespace in [Options]; a person puts the
// terms of a published one in their place. The mapping is in Turtle, with the RML and CARML
// terms that channels take in both dialects.
//
// It reads JSON, CSV with a header row, and XML. What it writes depends on the sample alone:
// the same sample gives the same mapping.
package suggest
