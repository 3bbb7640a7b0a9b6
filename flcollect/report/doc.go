// Package report holds what a training collector reports of its jobs: their states, their rounds,
// what became of each update, and the lines of the audit log.
//
// [VerifyAudit] checks an audit log, for which it needs no collector.
package report
