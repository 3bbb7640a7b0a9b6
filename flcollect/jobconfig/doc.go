// Package jobconfig holds the configuration of a job: [Config]. [Parse] reads it from
// the body of a request, [Config.Check] checks one that a program has made, and
// [Stored] is the form in which a job keeps it.
//
// [Parse] reports every fault with its place and its kind, as an [*Error]. The form in
// which a REST interface answers with them is not part of this package.
package jobconfig
