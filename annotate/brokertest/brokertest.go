// Package brokertest is the conformance suite of annotate.Broker. A transport
// that passes Run can carry a channel without losing messages.
//
// Each check states one rule of the contract in words. A failure prints the
// rule and what was seen instead. The checks return errors instead of failing
// a test, so that the suite itself can be tried against faulty brokers.
package brokertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/iotenablers/enablers/annotate"
)

// Harness is the broker under test and what the suite has to know about it.
type Harness struct {
	// Broker is the implementation under test; required.
	Broker annotate.Broker
	// Topic returns settings for a topic of that name, on the broker that the
	// test runs, for a client or consumer group of that name; required.
	Topic func(topic, client string) annotate.Topic
	// Cut makes the broker unreachable, for live and for new connections, and
	// Restore makes it reachable again with its durable state. When they are
	// nil the checks that need them are skipped.
	Cut, Restore func()
	// Messages is the length of the long streams. Zero means 10,000.
	Messages int
	// Timeout bounds each check, so that one that hangs ends. Zero means three
	// minutes, which a machine with much else to do may need.
	Timeout time.Duration
}

// Check is one rule of the contract and the experiment that tests it.
type Check struct {
	// Name is a few words, usable as a test's name.
	Name string
	// Rule describes what has to hold.
	Rule string
	// Outage is true when the check needs Harness.Cut and Harness.Restore.
	Outage bool
	// Transactions is true when the check is for an annotate.Transactor.
	Transactions bool

	experiment func(*rig) error
}

// Run tests every rule.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Outage && (h.Cut == nil || h.Restore == nil) {
				t.Skip("the harness cannot cut the connection to the broker")
			}
			if _, ok := h.Broker.(annotate.Transactor); c.Transactions && !ok {
				t.Skip("the broker has no transactions")
			}
			if err := c.Run(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks returns the rules, in an order in which they can be read.
func Checks() []Check {
	var all []Check
	all = append(all, inputChecks()...)
	all = append(all, outputChecks()...)
	all = append(all, streamChecks()...)
	all = append(all, outageChecks()...)
	all = append(all, transactChecks()...)
	return all
}

// Run does the experiment. The error names the rule.
func (c Check) Run(ctx context.Context, h Harness) error {
	if h.Timeout == 0 {
		h.Timeout = 3 * time.Minute
	}
	if h.Messages == 0 {
		h.Messages = 10_000
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r := &rig{
		Harness: h,
		ctx:     ctx,
		// No experiment finds the topics and sessions of another.
		topic: fmt.Sprintf("brokertest/%s/%s", c.Name, rand.Text()),
	}
	defer r.cleanUp()
	if err := c.experiment(r); err != nil {
		return fmt.Errorf("%s: the rule is: %s But %w", c.Name, c.Rule, err)
	}
	return nil
}
