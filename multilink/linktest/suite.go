// Package linktest is the conformance suite of multilink's contracts: Underlay
// with its Tunnel, FramePort, and Host. A driver that passes can carry a bond.
//
// Each check states one rule of a contract in words. A failure prints the rule
// and what was seen instead. The checks return errors instead of failing a
// test, so that the suite itself can be tried against faulty drivers.
package linktest

import (
	"fmt"
	"testing"
	"time"
)

// Check is one rule of a contract and the experiment that tests it on a driver
// that a harness H makes.
type Check[H any] struct {
	// Name is a few words, usable as a test's name.
	Name string
	// Rule says what must hold.
	Rule string
	// Needs says what the harness must have beyond what is required, and is
	// empty where it has it. Nil is nothing.
	Needs func(H) string

	experiment func(H) error
}

// Run does the experiment. The error names the rule.
func (c Check[H]) Run(h H) error {
	if err := c.experiment(h); err != nil {
		return fmt.Errorf("%s: the rule is: %s But %w", c.Name, c.Rule, err)
	}
	return nil
}

func run[H any](t *testing.T, checks []Check[H], h H) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if c.Needs != nil {
				if missing := c.Needs(h); missing != "" {
					t.Skip(missing)
				}
			}
			if err := c.Run(h); err != nil {
				t.Error(err)
			}
		})
	}
}

// patience is how long something that must happen may take.
const patience = 20 * time.Second

// within waits for something to happen.
func within(bound time.Duration, what string, happened func() bool) error {
	if bound == 0 {
		bound = patience
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(bound); !happened(); <-ticker.C {
		if time.Now().After(end) {
			return fmt.Errorf("within %v %s", bound, what)
		}
	}
	return nil
}
