package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/storage"
)

// Errors of reports and audit logs.
var (
	// ErrAudit is matched by the error of an audit log that is not what was written.
	ErrAudit = audit.ErrBroken
	// ErrNoReport is returned for a round that has no report: it is not finished, or
	// was finished before there were reports.
	ErrNoReport = audit.ErrNoReport
)

// Outcome is what became of a client's part in a round.
type Outcome = audit.Outcome

// The outcomes.
const (
	// Kept is an update that is part of the result as it was sent.
	Kept = audit.Kept
	// Clipped is an update that is part of the result in a shortened form.
	Clipped = audit.Clipped
	// Refused is an update that is no part of the result.
	Refused = audit.Refused
	// Failed is an update that did not come.
	Failed = audit.Failed
)

// Counts counts the clients of a round by [Outcome].
type Counts = audit.Counts

// Updates sums up the updates of a round, or of all rounds of a run.
type Updates = audit.Updates

// Conversion counts the layers that were converted from one type to that of the layer in
// the job's model.
type Conversion = audit.Conversion

// Compression counts the updates that clients compressed in one way.
type Compression = audit.Compression

// ClientReport is a client's part in a round. It names the client by its identity:
// "key:" and the SHA-256 of the public key of its certificate, "name:" and what
// [Config].Identify returns, or "session:" and the name of its session.
type ClientReport = audit.ClientReport

// RoundReport is what became of the updates of a finished round. It is meant for the
// operator of the server: no privacy mechanism covers it.
type RoundReport = audit.RoundReport

// AuditLine is a line of a job's audit log: an attempt at a round, or a part of an
// attempt with many clients. A round that was attempted again, after a crash, has the
// lines of every attempt.
type AuditLine = audit.Line

// AuditRef names a line of an audit log by its number and its digest. A note of it
// elsewhere fixes all lines up to this one.
type AuditRef = audit.Ref

// Reputation is the reputation of a client within a job. The zero value is that of a
// client without fault.
type Reputation = reputation.Reputation

// Suspension is a client that is drawn only where there are too few others.
type Suspension = reputation.Suspension

// Digest returns the SHA-256 of parameters in hexadecimal: over each tensor, in
// order, its length in bytes as 8 bytes, the low one first, and the bytes that are
// sent. A client in Python computes the same:
//
//	sha256 = hashlib.sha256()
//	for tensor in parameters.tensors:
//	    sha256.update(len(tensor).to_bytes(8, "little") + tensor)
//	sha256.hexdigest()
//
// Encrypted tensors are digested as they are sent. A digest reveals nothing but
// equality, unless all models that it may be of can be tried.
func Digest(p flower.Parameters) string { return audit.Digest(p) }

// VerifyAudit reads an audit log from its first line, as [Server.Audit] yields it with a
// line feed after each line, and returns its last line. The error matches [ErrAudit] and
// names the first line that does not follow from the one before: there something was
// changed, removed, added or moved. Lines that are missing at the end show only against
// a line that was noted before, from [Round].Audit, from the log of the server, or from
// an earlier reading: it must be there with the same digest. An empty log is valid.
// Memory is bounded by a line, of 8 MiB at most.
func VerifyAudit(log io.Reader) (last AuditRef, err error) { return audit.Verify(log) }

// Audit yields the audit log of a job, a line at a time as it is stored and without a
// line feed, from the one after a number to the last. A job that is not known has no
// lines.
func (s *Server) Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error] {
	return audit.Lines(ctx, s.config.Documents, id, after)
}

// Report returns what became of the updates of a finished round of the job's current
// run: of up to limit clients, in the order of their identities, from the one after so
// many; a limit of 0 or less means 1000, which is also the most. The error matches
// [ErrNoReport] where there is no report.
func (s *Server) Report(ctx context.Context, id string, round, after, limit int) (RoundReport, error) {
	report, err := s.report(ctx, id, round, max(after, 0), limit)
	if err != nil {
		return RoundReport{}, fmt.Errorf("report of round %d of job %q: %w", round, id, err)
	}
	return report, nil
}

func (s *Server) report(ctx context.Context, id string, number, after, limit int) (RoundReport, error) {
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && (number < 1 || number > r.Round) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	doc, err := s.config.Documents.Get(ctx, roundKey(r.Token, number))
	if errors.Is(err, storage.ErrNotFound) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	var round Round
	if err := json.Unmarshal(doc.Data, &round); err != nil {
		return RoundReport{}, fmt.Errorf("read %q: %w", doc.Key, err)
	}
	run := audit.Run{Job: id, Run: r.Run, Token: r.Token}
	return audit.ReadReport(ctx, s.config.Documents, run, number, round.Audit, after, limit)
}
