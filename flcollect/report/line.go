package report

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// AuditRef names a line of an audit log.
type AuditRef struct {
	// Line is its number, from 1. It is the last of Lines lines of one attempt.
	Line  int64 `json:"line"`
	Lines int   `json:"lines"`
	// SHA256 is the digest of the line's bytes without the line feed, in
	// hexadecimal. A note of it elsewhere fixes all lines up to this one.
	SHA256 string `json:"sha256"`
}

// AuditLine is a line of a job's audit log: an attempt at a round, or a part of an attempt
// with many clients. A round that was attempted again, after a crash, has the lines of
// every attempt.
type AuditLine struct {
	// Line counts the lines of the job from 1, over all its runs.
	Line int64 `json:"line"`
	// Previous is the SHA-256 of the bytes of the line before, without its line
	// feed, in hexadecimal; empty in the first.
	Previous string `json:"previous"`
	// Job, Run and Round name what was attempted. The line holds part Part of Parts
	// of its clients.
	Job   string `json:"job"`
	Run   int64  `json:"run"`
	Round int    `json:"round"`
	Part  int    `json:"part"`
	Parts int    `json:"parts"`
	// Time is when the updates had been aggregated, by the server's clock.
	Time time.Time `json:"time"`
	// Aggregated is whether there is a new model. Error says why the attempt failed;
	// it may be repeated.
	Aggregated bool   `json:"aggregated"`
	Error      string `json:"error,omitempty"`
	// Model is the digest of the parameters that clients were sent, Result
	// that of those after the attempt.
	Model  string `json:"model,omitempty"`
	Result string `json:"result,omitempty"`
	// Counts counts the outcomes of all clients of the attempt.
	Counts Counts `json:"outcomes"`
	// Clients are in the order of their identities.
	Clients []Client `json:"clients"`
}

// Ref returns the reference to the line, whose stored bytes are text.
func (l AuditLine) Ref(text []byte) AuditRef {
	sum := sha256.Sum256(text)
	return AuditRef{Line: l.Line, Lines: l.Part, SHA256: hex.EncodeToString(sum[:])}
}
