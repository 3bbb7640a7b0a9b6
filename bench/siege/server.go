package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// token is that of the legitimate calls, and of the slow senders.
const token = "a-token-of-the-siege-with-many-letters"

// contender is a server, with a legitimate call.
type contender struct {
	name      string
	arguments []string
	listener  string // the end of the line with its address, empty if it has one listener
	path      string // of the call
	post      string // the path that slow senders send to
}

func servers() []contender {
	return []contender{
		{name: "annotator", path: "/channels", post: "/channels"},
		{name: "modelrepo", path: "/", post: "/name/model/1/content"},
		{name: "flcollector", arguments: []string{"-grpc-listen", "127.0.0.1:0"}, path: "/jobs", post: "/job/config/1"},
		{
			name: "apimanager", arguments: []string{"-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"},
			listener: "(admin)", path: "/services", post: "/services",
		},
		{
			name: "multilink", arguments: []string{"-role", "server", "-allow", "nothing", "-tap", "tsiege0"},
			path: "/bond", post: "/tunnel/client/add",
		},
	}
}

// trial measures calls without and with the siege.
func (c contender) trial(ctx context.Context, s settings, folder string, n int) (t trial, err error) {
	program := filepath.Join(folder, c.name)
	if n == 0 {
		if _, err := rig.Build(ctx, folder, c.name); err != nil {
			return t, err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "tokens"), []byte("siege admin "+token+"\n"), 0o600); err != nil {
		return t, err
	}
	arguments := append([]string{
		"-listen", "127.0.0.1:0", "-data", fmt.Sprint("data-", n), "-access-tokens", "tokens",
	}, c.arguments...)
	p, err := rig.Start(ctx, folder, nil, program, arguments...)
	if err != nil {
		return t, err
	}
	defer p.End()
	address, err := c.await(ctx, p)
	if err != nil {
		return t, err
	}
	t = trial{Server: c.name, Load: rig.LoadAverage()}
	if t.Calm, err = c.calls(ctx, s, address); err != nil {
		return t, err
	}
	t.Before = resident(p)
	siege := c.besiege(ctx, s.size, address)
	t.Siege, err = c.calls(ctx, s, address)
	t.Attack = siege.lift()
	t.Peak = float64(p.Peak())
	return t, err
}

// await waits for the address of the listener that is called.
func (c contender) await(ctx context.Context, p *rig.Process) (string, error) {
	for {
		rest, err := p.Await(ctx, "listening on http://")
		if err != nil || strings.HasSuffix(rest, c.listener) {
			address, _, _ := strings.Cut(rest, " ")
			return strings.TrimSuffix(address, "/"), err
		}
	}
}

// resident returns the memory that the process has now, in bytes.
func resident(p *rig.Process) float64 {
	text := rig.ProcField(fmt.Sprintf("/proc/%d/status", p.ID()), "VmRSS")
	kilobytes, _ := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	return kilobytes * 1024
}
