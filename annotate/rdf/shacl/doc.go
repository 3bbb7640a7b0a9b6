// Package shacl validates RDF graphs by shapes, as the W3C Recommendation SHACL
// (https://www.w3.org/TR/shacl/) defines them in its sections 2 to 4: SHACL Core
// with all constraint components, property paths and targets.
//
// [Load] reads a shapes graph in Turtle and compiles it. [Shapes.Validate] validates a
// graph and returns a [Report]. Shapes do not change, and any number of goroutines
// may use them.
//
// # What is refused
//
// Load returns an error for a shape that is ill-formed, for a term of the SHACL
// namespace that SHACL Core does not define at shapes (a misspelt sh:minCont, or the
// sh:sparql of SHACL-SPARQL), and for a shape that refers to itself over other shapes,
// for which SHACL leaves the validation undefined. Patterns are translated to the
// syntax of package regexp, which takes linear time; references back, lookarounds,
// named blocks and the subtraction of character classes are refused.
//
// # What is a graph
//
// The statements of all named graphs and of the default graph are validated as one
// graph, without duplicates. The hierarchy of classes is that of the data, not of the
// shapes graph. Statements owl:imports are not followed.
package shacl
