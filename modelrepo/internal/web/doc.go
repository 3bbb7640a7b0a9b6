// Package web is what the REST interface and the pages of a repository have in common: the
// path that a request names, the files of its form, the classification of errors, refusals and warnings.
package web
