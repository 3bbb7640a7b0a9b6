package job

import (
	"context"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// phase is where a job is in its life. See the comment of the package.
type phase int

const (
	phaseWaiting    phase = iota // for the clients of the first round
	phaseTraining                // rounds
	phaseSaving                  // how the training ended, with a first attempt to deliver what it leaves
	phaseDelivering              // what the orchestrator and the repository have not accepted yet
	phaseEnded                   // nothing is left to do here
)

// phases is the phase of a job, with a context for the work of each. The context of a phase
// ends with that of the next one: a job that must not store anything delivers nothing, and one
// that delivers nothing trains no more.
type phases struct {
	contexts [phaseEnded]context.Context
	cancels  [phaseEnded]context.CancelCauseFunc
	reached  [phaseEnded + 1]chan struct{} // closed once the job was in the phase

	mu  sync.Mutex
	now phase
}

// newPhases returns the phases of a job that begins in one of them. Life is the right of the
// server to conduct the job, which lose gives up.
func newPhases(life context.Context, lose context.CancelCauseFunc, first phase) *phases {
	p := &phases{now: first}
	p.contexts[phaseSaving], p.cancels[phaseSaving] = life, lose
	p.contexts[phaseDelivering], p.cancels[phaseDelivering] = context.WithCancelCause(life)
	p.contexts[phaseTraining], p.cancels[phaseTraining] = context.WithCancelCause(p.contexts[phaseDelivering])
	p.contexts[phaseWaiting], p.cancels[phaseWaiting] = p.contexts[phaseTraining], p.cancels[phaseTraining]
	for i := range p.reached {
		p.reached[i] = make(chan struct{})
		if phase(i) <= first {
			close(p.reached[i])
		}
	}
	return p
}

// during returns the context of the work of a phase.
func (p *phases) during(in phase) context.Context { return p.contexts[in] }

// end ends the work of a phase, and of those before it, for a reason.
func (p *phases) end(in phase, reason error) { p.cancels[in](reason) }

// enter begins a later phase.
func (p *phases) enter(next phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next > p.now {
		p.now = next
		close(p.reached[next])
	}
}

// before does something, unless the job is in a phase or past it. Meanwhile it enters none.
func (p *phases) before(next phase, do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now >= next {
		return false
	}
	do()
	return true
}

// Stop interrupts the training, unless its rounds are done.
func (p *phases) Stop() { p.end(phaseTraining, errStopped) }

// Retire ends the deliveries of a job whose training has ended.
func (p *phases) Retire() { p.end(phaseDelivering, nil) }

// Lose ends everything that the job does, because another server conducts it.
func (p *phases) Lose() { p.end(phaseSaving, ErrMoved) }

// Ended returns a channel that is closed once the training has ended and that is stored. Then the
// clients are to leave.
func (p *phases) Ended() <-chan struct{} { return p.reached[phaseDelivering] }

// Done returns a channel that is closed once the job has nothing to do here.
func (p *phases) Done() <-chan struct{} { return p.reached[phaseEnded] }

// errStopped is the reason of a job that was stopped.
var errStopped error = stopped{}

// stopped sets the instructions of clients aside, so that a client can be disconnected once it
// has answered.
type stopped struct{}

// Error implements error.
func (stopped) Error() string { return "stopped on request" }

// Is reports whether the error matches another one.
func (stopped) Is(other error) bool { return other == flower.ErrSetAside }

// ErrMoved is the reason of a job that another server conducts.
var ErrMoved = fmt.Errorf("%w: another server has taken the job", flower.ErrSetAside)
