package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// machined is what a test in a virtual machine counted, through six changes of
// link: two silent cuts, two restorations, a lost carrier and its return.
type machined struct {
	Contender string `json:"contender"`
	Sent      int    `json:"sent"` // pings, two a second
	Lost      int    `json:"lost"`
}

// kernelBonding is the contender that only the virtual machine has.
const kernelBonding = "kernel bonding over WireGuard and VXLAN, in the virtual machine"

// machineTests are the tests of test/multilink/vm that count.
var machineTests = []struct{ name, test string }{
	{kernelBonding, "TestInstance_kernelPlane_survivesItsRadios"},
	{"ours, in the virtual machine", "TestInstance_bond_survivesItsRadios"},
}

// measureMachine has the tests run in the virtual machine, one after the other.
func measureMachine(ctx context.Context, s settings, r *record) error {
	var errs []error
	for _, one := range machineTests {
		if !s.only.MatchString(one.name) {
			continue
		}
		rig.AwaitCalm(ctx, calm)
		output, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^"+one.test+"$",
			"github.com/iotenablers/enablers/test/multilink/vm").CombinedOutput()
		m := machined{Contender: one.name}
		if err == nil {
			err = m.read(string(output))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w: %s", one.name, err, rig.FirstLine(skipped.FindString(string(output)))))
			continue
		}
		r.Machined = append(r.Machined, m)
	}
	return errors.Join(errs...)
}

var (
	pinged  = regexp.MustCompile(`(\d+) packets transmitted, (\d+) packets received`)
	skipped = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: .*`) // the first thing that a test says
)

// read reads what ping says in the output of a test.
func (m *machined) read(output string) error {
	found := pinged.FindStringSubmatch(output)
	if found == nil {
		return errors.New("the test in the virtual machine counted nothing")
	}
	sent, err := strconv.Atoi(found[1])
	if err != nil {
		return err
	}
	received, err := strconv.Atoi(found[2])
	if err != nil {
		return err
	}
	if sent == 0 || received > sent {
		return fmt.Errorf("the test in the virtual machine counted %d of %d pings", received, sent)
	}
	m.Sent, m.Lost = sent, sent-received
	return nil
}
