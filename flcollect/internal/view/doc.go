// Package view has jobs and their runs in the form in which the REST interface and the pages of
// a collector show them.
package view
