// Package rest is the REST interface of a training collector: [NewHandler] serves the jobs of a
// [flcollect.Server] over HTTP, with streams of their events, by section 4 of the
// specification of the training collector.
package rest
