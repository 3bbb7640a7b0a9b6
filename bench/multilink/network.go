package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/netlab"
)

// links are those between the hosts, the primary first.
var links = [...]struct{ name, kind string }{{"wifi0", "wifi"}, {"mesh0", "mesh"}, {"wwan0", "5g"}}

// tap is the name of the TAP device, the same for all contenders.
const tap = "tap0"

// network is two hosts, the links between them and what runs on the hosts. One
// goroutine at a time may use it.
type network struct {
	lab       *netlab.Lab
	folder    string
	links     int            // that a contender shall use
	processes []*rig.Process // of the contender
	closers   []func()
}

// newNetwork makes hosts on which nothing runs.
func newNetwork(folder string, links int) (*network, error) {
	n := &network{links: links}
	var err error
	if n.folder, err = os.MkdirTemp(folder, "trial-"); err != nil {
		return nil, err
	}
	if n.lab, err = netlab.New(linkNames()...); err != nil {
		return nil, err
	}
	return n, nil
}

func linkNames() []string {
	var names []string
	for _, l := range links {
		names = append(names, l.name)
	}
	return names
}

// close ends all that runs and lets the hosts vanish.
func (n *network) close() error {
	for i := len(n.closers) - 1; i >= 0; i-- {
		n.closers[i]()
	}
	for _, p := range n.processes {
		n.end(p)
	}
	return errors.Join(n.lab.Close(), os.RemoveAll(n.folder))
}

// end signals a process to end, and waits a little before it is killed.
func (n *network) end(p *rig.Process) {
	late := time.AfterFunc(3*time.Second, p.Kill)
	defer late.Stop()
	if found, err := os.FindProcess(p.ID()); err == nil && found.Signal(syscall.SIGTERM) == nil {
		_, _ = p.Rest() // its last output does not matter
	}
	p.End()
}

// start starts a process of the contender on a host.
func (n *network) start(ctx context.Context, side netlab.Side, environment []string, name string, args ...string) (*rig.Process, error) {
	p, err := n.launch(ctx, side, environment, name, args...)
	if err == nil {
		n.processes = append(n.processes, p)
	}
	return p, err
}

// launch starts a process on a host that is not the contender's.
func (n *network) launch(ctx context.Context, side netlab.Side, environment []string, name string,
	args ...string) (p *rig.Process, err error) {
	err = n.lab.In(side, func() error {
		p, err = rig.Start(ctx, n.of(side), environment, name, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// of is the folder of a host.
func (n *network) of(side netlab.Side) string {
	return filepath.Join(n.folder, [2]string{netlab.Client: "client", netlab.Server: "server"}[side])
}

// file writes a file of a host, and returns its name.
func (n *network) file(side netlab.Side, name, text string) (string, error) {
	path := filepath.Join(n.of(side), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// run runs a command on a host and returns what it prints.
func (n *network) run(ctx context.Context, side netlab.Side, name string, args ...string) ([]byte, error) {
	var output, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &output, &complaint
	if err := n.lab.In(side, cmd.Run); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, complaint.Bytes(), output.Bytes())
	}
	return output.Bytes(), nil
}

// configure gives the hosts' TAP devices, once they are there, the addresses and
// the MTU of the benchmark.
func (n *network) configure(ctx context.Context) error {
	for _, side := range []netlab.Side{netlab.Client, netlab.Server} {
		err := n.wait(ctx, func() error {
			if _, err := n.run(ctx, side, "ip", "link", "set", "dev", tap, "mtu", strconv.Itoa(mtu), "up"); err != nil {
				return err
			}
			_, err := n.run(ctx, side, "ip", "address", "replace", tunnelled[side].String(), "dev", tap)
			return err
		})
		if err != nil {
			return fmt.Errorf("configure %s: %w", tap, err)
		}
	}
	return nil
}

// wait tries something until it works.
func (n *network) wait(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			for _, p := range n.processes {
				err = p.Failure(err)
			}
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processorTime is what the contender's processes have taken.
func (n *network) processorTime() time.Duration {
	var total time.Duration
	for _, p := range n.processes {
		total += p.CPU()
	}
	return total
}

// sent returns how many bytes the client has sent over a link.
func (n *network) sent(link string) (bytes float64, err error) {
	table, err := n.read(netlab.Client, "net/dev")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(table) {
		if name, numbers, _ := strings.Cut(strings.TrimSpace(line), ":"); name == link {
			// proc(5), /proc/net/dev: eight numbers of what arrived come first.
			if fields := strings.Fields(numbers); len(fields) > 8 {
				return strconv.ParseFloat(fields[8], 64)
			}
		}
	}
	return 0, fmt.Errorf("count bytes of %q: it is not there", link)
}

// pieces returns how many IP packets the hosts have cut into pieces.
func (n *network) pieces() (count int, err error) {
	for _, side := range []netlab.Side{netlab.Client, netlab.Server} {
		table, err := n.read(side, "net/snmp")
		if err != nil {
			return 0, err
		}
		var names, values []string
		for line := range strings.Lines(table) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "Ip:" {
				names, values = values, fields
			}
		}
		for i, name := range names {
			if name == "FragOKs" && i < len(values) {
				of, err := strconv.Atoi(values[i])
				if err != nil {
					return 0, fmt.Errorf("count pieces: %w", err)
				}
				count += of
			}
		}
	}
	return count, nil
}

// read reads a file of /proc of the host.
func (n *network) read(side netlab.Side, file string) (string, error) {
	var text []byte
	err := n.lab.In(side, func() (err error) {
		text, err = os.ReadFile("/proc/thread-self/" + file)
		return err
	})
	return string(text), err
}

// address is where a host is on a link.
func address(side netlab.Side, link int) netip.Addr { return netlab.Address(side, link) }
