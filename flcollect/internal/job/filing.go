package job

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// filing is the account of an attempt that is being stored. The goroutine that starts it
// waits for it.
type filing struct {
	updates report.Updates
	clients []report.Client
	late    []report.Quarantine // updates that were refused at the end of the round
	judged  reputation.State
	done    chan struct{} // closed once the fields below are set
	err     error
	head    report.AuditRef // the last line of the audit log
	result  string          // the digest of the model after the round; empty without an audit log
}

// startFiling begins to store the reports of the clients of a round, and their
// reputations; both before the round counts.
func (t *training) startFiling(a *audit.Attempt, result strategy.Model) *filing {
	f := &filing{done: make(chan struct{})}
	line := report.AuditLine{Round: a.Round, Time: Now(), Aggregated: result != nil}
	clients := a.Clients(t.conductor.Strategy())
	for _, c := range clients.Late() {
		if len(f.late) < report.MaxQuarantined {
			f.late = append(f.late, report.Quarantine{Round: a.Round, Client: c.Session, Reason: c.Reason})
		}
	}
	suspended := 0
	if !t.service.TrustClients {
		suspended = audit.Judge(t.reputations, a.Round, clients)
	}
	line.Clients = clients.Reports()
	f.clients, f.updates = line.Clients, report.Sum(line.Clients)
	f.judged = t.reputations.State()
	counted := f.updates // as the status has them
	if t.conductor.Private() != nil {
		counted = counted.Covered()
	}
	t.service.Counter.UpdatesJudged(counted.Counts, suspended)
	ctx := t.during(phaseSaving) // a training that is stopped now has its attempt stored all the same
	go func() {
		defer close(f.done)
		if line.Model = a.Sent(); t.audit.Chained() {
			line.Result = line.Model
			if result != nil {
				line.Result = t.encryption.Encode(result).Digest()
			}
			t.digest, f.result = line.Result, line.Result
		}
		if f.err = t.audit.Write(ctx, line); f.err != nil {
			return
		}
		f.head = t.audit.Head()
		if t.config.Async != nil {
			return // a version does not count before those that came before it: conclude stores the reputations
		}
		f.err = t.saveReputations(a.Round, f.judged)
	}()
	return f
}

// saveReputations stores the reputations of clients as of a round.
func (t *training) saveReputations(round int, state reputation.State) error {
	return t.storage.Insist(t.during(phaseSaving), func() error {
		return t.reputations.Save(t.during(phaseSaving), t.storage, t.Record().Token, round, state)
	})
}

// notes say how many updates the strategy refused at the end of a round with so many
// clients.
func (f *filing) notes(clients int) []string {
	if len(f.late) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("fit: the strategy refused %d of %d updates at the end of the round, the first of %q: %s",
		len(f.late), clients, f.late[0].Client, f.late[0].Reason)}
}

// wait returns nil once everything is durable, or the error.
func (f *filing) wait() error {
	<-f.done
	return f.err
}

// fileFailed stores an attempt that has failed, also when the training was stopped.
func (t *training) fileFailed(a *audit.Attempt, reason error) {
	if !a.Begun() || !t.audit.Chained() {
		return
	}
	line := report.AuditLine{
		Round: a.Round, Time: Now(), Error: excerpt.Reason(reason), Model: a.Sent(),
		Clients: a.Clients(t.conductor.Strategy()).Reports(),
	}
	line.Result = line.Model
	if err := t.audit.Write(t.during(phaseSaving), line); err != nil && t.during(phaseSaving).Err() == nil {
		t.log.Error("an attempt is not in the audit log", "round", a.Round, "error", err)
	}
}
