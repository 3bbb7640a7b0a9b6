// Package escape writes values into terms: into IRIs and URIs of templates, into
// the labels of blank nodes, and into quoted literals.
package escape
