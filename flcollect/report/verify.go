package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/storage"
)

// ErrAudit is matched by the error of an audit log that is not what was written.
var ErrAudit = errors.New("flcollect: the audit log is broken")

// VerifyAudit reads an audit log from its first line, as flcollect.Server.Audit yields it with
// a line feed after each line, and returns its last line. The error matches [ErrAudit] and names the first line that does not
// follow from the one before: there something was changed, removed, added or moved.
// Lines that are missing at the end show only against a line that was noted before,
// from [Round].Audit, from the log of the server, or from an earlier reading: it must be
// there with the same digest. An empty log is valid. Memory is bounded by a
// line, of 8 MiB at most.
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
		last, before = line.Ref(lines.Bytes()), line
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

// wholeLines divides a log into lines and leaves their bytes as they are.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errCutOff
	}
	return 0, nil, nil
}

// follow reads a line, and returns the reason why it does not follow the one before.
func follow(before AuditLine, last AuditRef, text []byte) (AuditLine, error) {
	var line AuditLine
	if err := json.Unmarshal(text, &line); err != nil {
		return line, fmt.Errorf("it cannot be read: %w", err)
	}
	next := before.Part < before.Parts && line.Part == before.Part+1 && line.Parts == before.Parts &&
		line.Run == before.Run && line.Round == before.Round
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
