package flcollect

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/storage"
)

// ErrAudit is matched by the error of an audit log that is not what was written.
var ErrAudit = errors.New("flcollect: the audit log is broken")

// Digest returns the SHA-256 of parameters in hexadecimal: over each tensor, in
// order, its length in bytes as 8 bytes, the low one first, and the bytes that are
// sent. A client in Python computes the same:
//
//	sha256 = hashlib.sha256()
//	for tensor in parameters.tensors:
//	    sha256.update(len(tensor).to_bytes(8, "little") + tensor)
//	sha256.hexdigest()
//
// Encrypted tensors are digested as they are sent. Nothing but equality can be
// told from a digest, unless all models that it may be of can be tried.
func Digest(p flower.Parameters) string {
	sum := sha256.New()
	for _, blob := range p.Tensors {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(blob.Len()))
		sum.Write(length[:]) // a hash never fails
		for _, chunk := range blob {
			sum.Write(chunk)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// AuditRef names a line of an audit log.
type AuditRef struct {
	// Line is its number, from 1; Lines of them, the last of which it is, are of
	// one attempt.
	Line  int64 `json:"line"`
	Lines int   `json:"lines"`
	// SHA256 is the digest of the line's bytes without the line feed, in
	// hexadecimal. Who notes it elsewhere has all lines up to it fixed.
	SHA256 string `json:"sha256"`
}

// AuditLine is a line of a job's audit log: an attempt at a round, or a part of
// one that many clients took part in. A round that was attempted again, after a
// crash, has the lines of every attempt.
type AuditLine struct {
	// Line counts the lines of the job from 1, over all its runs.
	Line int64 `json:"line"`
	// Previous is the SHA-256 of the bytes of the line before, without its line
	// feed, in hexadecimal; empty in the first.
	Previous string `json:"previous"`
	// Job, Run and Round say what was attempted, Part of Parts which clients
	// are in the line.
	Job   string `json:"job"`
	Run   int64  `json:"run"`
	Round int    `json:"round"`
	Part  int    `json:"part"`
	Parts int    `json:"parts"`
	// Time is when the updates had been aggregated, by the server's clock.
	Time time.Time `json:"time"`
	// Aggregated is whether there is a new model. Error says why the attempt was
	// broken off; it may be made again.
	Aggregated bool   `json:"aggregated"`
	Error      string `json:"error,omitempty"`
	// Model is the [Digest] of the parameters that clients were sent, Result
	// that of those after the attempt.
	Model  string `json:"model,omitempty"`
	Result string `json:"result,omitempty"`
	// Counts are the outcomes of all clients of the attempt.
	Counts Counts `json:"outcomes"`
	// Clients are in the order of their identities.
	Clients []ClientReport `json:"clients"`
}

// VerifyAudit reads an audit log from its first line on, as the server gives it
// out, and returns which line is the last. The error matches [ErrAudit] and names
// the first line that does not follow from the one before: something was changed,
// removed, added or put elsewhere there. That lines are missing at the end shows
// only to who knows a later one, from [Round].Audit, from a log of the server, or
// from an earlier look: its line must be there with the same digest. An empty log
// is whole. Memory is bounded by a line, of 8 MiB at most.
func VerifyAudit(log io.Reader) (last AuditRef, err error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(make([]byte, 64<<10), storage.MaxDataSize+1)
	lines.Split(wholeLines)
	var before AuditLine
	for lines.Scan() {
		line, reason := follow(before, last, lines.Bytes())
		if reason != nil {
			return last, fmt.Errorf("verify audit log: line %d: %w: %w", last.Line+1, ErrAudit, reason)
		}
		sum := sha256.Sum256(lines.Bytes())
		last = AuditRef{Line: line.Line, Lines: line.Part, SHA256: hex.EncodeToString(sum[:])}
		before = line
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) || errors.Is(err, errCutOff) {
		return last, fmt.Errorf("verify audit log: line %d: %w: %w", last.Line+1, ErrAudit, err)
	} else if err != nil {
		return last, fmt.Errorf("verify audit log: after line %d: %w", last.Line, err)
	}
	return last, nil
}

// errCutOff is the reason of a last line without an end.
var errCutOff = errors.New("it does not end")

// wholeLines divides a log into lines, whose bytes are left as they are.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errCutOff
	}
	return 0, nil, nil
}

// follow reads a line, and returns why it is not the one after another.
func follow(before AuditLine, last AuditRef, text []byte) (AuditLine, error) {
	var line AuditLine
	if err := json.Unmarshal(text, &line); err != nil {
		return line, fmt.Errorf("it cannot be read: %w", err)
	}
	next := before.Part < before.Parts && line.Part == before.Part+1 && line.Parts == before.Parts && line.Run == before.Run && line.Round == before.Round
	switch {
	case line.Line != last.Line+1:
		return line, fmt.Errorf("it says that it is line %d", line.Line)
	case line.Previous != last.SHA256:
		return line, fmt.Errorf("it follows a line with the digest %.16q, and the one before has %.16q", line.Previous, last.SHA256)
	case line.Part < 1 || line.Part > line.Parts || line.Part > 1 && !next:
		return line, fmt.Errorf("it is part %d of %d after part %d of %d", line.Part, line.Parts, before.Part, before.Parts)
	case line.Part == 1 && before.Part < before.Parts && line.Run == before.Run && line.Round > before.Round:
		return line, fmt.Errorf("round %d follows an unfinished attempt at round %d", line.Round, before.Round)
	case last.Line > 0 && line.Job != before.Job:
		return line, fmt.Errorf("it is of another job")
	}
	return line, nil
}
