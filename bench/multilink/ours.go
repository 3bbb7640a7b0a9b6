package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/netlab"
)

const token = "a token of the benchmark"

// bondSettings are those that a trial is about.
type bondSettings struct {
	policy string
	replay bool
}

// instance is a process of cmd/multilink.
type instance struct {
	url    string
	client *http.Client
}

// ours starts a server and a client and connects them over the links.
func ours(program string, bond bondSettings) func(context.Context, *network) (netip.Addr, error) {
	return func(ctx context.Context, n *network) (netip.Addr, error) {
		server, err := n.instance(ctx, netlab.Server, program, "server", "-address", tunnelled[netlab.Server].String())
		if err != nil {
			return netip.Addr{}, err
		}
		client, err := n.instance(ctx, netlab.Client, program, "client")
		if err != nil {
			return netip.Addr{}, err
		}
		return tunnelled[netlab.Server].Addr(), connect(ctx, n, server, client, bond)
	}
}

// instance starts a process on a host.
func (n *network) instance(ctx context.Context, side netlab.Side, program, role string, args ...string) (*instance, error) {
	args = append([]string{"-role", role, "-listen", "127.0.0.1:0", "-data", filepath.Join(n.of(side), "data"),
		"-tap", tap, "-mtu", strconv.Itoa(mtu)}, args...)
	p, err := n.start(ctx, side, []string{"MULTILINK_TOKEN=" + token}, program, args...)
	if err != nil {
		return nil, err
	}
	said, err := p.Await(ctx, "listening on ")
	if err != nil {
		return nil, err
	}
	url, _, _ := strings.Cut(said, " ")
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = n.lab.In(side, func() error {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}}
	n.closers = append(n.closers, transport.CloseIdleConnections)
	return &instance{url: url, client: &http.Client{Transport: transport, Timeout: rig.Patience}}, nil
}

// connect configures both and waits until the primary carries the frames.
func connect(ctx context.Context, n *network, server, client *instance, bond bondSettings) error {
	for i := range n.links {
		link := map[string]any{"name": links[i].name, "kind": links[i].kind, "priority": 10 * (i + 1)}
		if err := client.do(ctx, "POST", "/interfaces/add", link, nil); err != nil {
			return err
		}
		link["endpoint"] = netip.AddrPortFrom(address(netlab.Server, i), uint16(51820+i)).String()
		if err := server.do(ctx, "POST", "/interfaces/add", link, nil); err != nil {
			return err
		}
	}
	for _, i := range []*instance{server, client} {
		if err := i.do(ctx, "PUT", "/bond", map[string]any{"policy": bond.policy, "replay": bond.replay,
			"wait_to_restore_ms": 500}, nil); err != nil {
			return err
		}
	}
	var provisioned map[string]any
	if err := server.do(ctx, "POST", "/tunnel/client/add",
		map[string]any{"name": "gateway", "addresses": []string{tunnelled[netlab.Client].String()}}, &provisioned); err != nil {
		return err
	}
	provisioned["server"] = server.url
	if err := client.do(ctx, "POST", "/tunnel/attach", provisioned, nil); err != nil {
		return err
	}
	if err := n.configure(ctx); err != nil {
		return err
	}
	return n.wait(ctx, func() error {
		for _, i := range []*instance{server, client} {
			if err := i.settled(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled says why not all links are up and the primary active.
func (i *instance) settled(ctx context.Context) error {
	var records []struct {
		Name   string `json:"name"`
		State  string `json:"state"`
		Active bool   `json:"active"`
	}
	if err := i.do(ctx, "GET", "/interfaces", nil, &records); err != nil {
		return err
	}
	for at, r := range records {
		if r.State != "up" || (at == 0 && !r.Active) {
			return fmt.Errorf("link %q is %s, active %t", r.Name, r.State, r.Active)
		}
	}
	return nil
}

// do calls the process as any client does.
func (i *instance) do(ctx context.Context, method, path string, body, into any) error {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, i.url+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, content)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}
