// Package wire is what the REST interface of the repository and its client have in
// common: header fields, error codes and the JSON bodies of answers. It lies above
// package modelrepo, which does not import it.
package wire
