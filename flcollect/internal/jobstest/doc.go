// Package jobstest has what the tests of the REST interface and of the pages share: a [Board],
// whose jobs take the course that a test gives them, and a server that runs.
package jobstest
