package main

import (
	"context"
	"net/netip"

	"github.com/iotenablers/enablers/internal/netlab"
)

// mtu is that of every contender's TAP device, so that no contender's packets are cut
// into pieces on the way: multilink carries frames of 1,388 bytes whole over IPv6 and
// IPv4 alike.
const mtu = 1370

// The addresses of the hosts on a contender's network.
var tunnelled = [2]netip.Prefix{
	netlab.Client: netip.MustParsePrefix("10.9.0.2/24"),
	netlab.Server: netip.MustParsePrefix("10.9.0.1/24"),
}

// contender is a tunnel, or something else that joins the two hosts.
type contender struct {
	name, how string
	// start starts its processes and returns the server's address on the network
	// that it makes. With several links it shall use them.
	start func(ctx context.Context, n *network) (netip.Addr, error)
	// links it gets: one for throughput, unless it is made for several.
	links int
	// stream has failovers seen by a connection of TCP instead of packets.
	stream bool
}

// setting is a trial to make.
type setting struct {
	contender
	round  int
	folder string
}

// throughputContenders are those whose throughput is measured.
func throughputContenders(program string) []contender {
	return []contender{
		{name: "ours", how: "two processes of `cmd/multilink`, three links, active-backup with replay: the defaults",
			links: 3, start: ours(program, bondSettings{"active-backup", true})},
		{name: "OpenVPN, AES-256-GCM", how: "TAP, TLS, `fast-io`, `txqueuelen 1000`, buffers of 1 MiB, `mssfix 0`",
			links: 1, start: openVPN("AES-256-GCM")},
		{name: "OpenVPN, ChaCha20-Poly1305", how: "the same with another cipher", links: 1, start: openVPN("CHACHA20-POLY1305")},
		{name: "fastd", how: "TAP, `salsa2012+umac`, which its documentation recommends", links: 1, start: fastd},
		{name: "tinc", how: "1.0, switch mode, its default cipher and digest", links: 1, start: tinc("")},
		{name: "tinc, " + tincFastest, how: "the same with the fastest authenticated cipher that it takes here; " +
			"version 1.0 takes none of AEAD", links: 1, start: tinc(tincFastest)},
		{name: "bare link", how: "iperf3 over the link itself, with the kernel's offloads and without a tunnel", links: 1, start: bare},
	}
}

// failoverContenders are those that meet faults.
func failoverContenders(program string) []contender {
	return []contender{
		{name: "ours, active-backup with replay", how: "the default: probes every 10 ms, a link is given up after " +
			"three", links: 3, start: ours(program, bondSettings{"active-backup", true})},
		{name: "ours, active-backup", how: "without replay", links: 3, start: ours(program, bondSettings{"active-backup", false})},
		{name: "ours, redundant", how: "every frame over every link", links: 3, start: ours(program, bondSettings{"redundant", true})},
		{name: "ours, adaptive", how: "copies over the next link while the primary is suspect", links: 3,
			start: ours(program, bondSettings{"adaptive", true})},
		{name: "ours, a connection of TCP", how: "the default, seen by a connection of TCP", links: 3, stream: true,
			start: ours(program, bondSettings{"active-backup", true})},
		{name: "Multipath TCP", how: "the kernel's, without encryption: the server announces three addresses, the " +
			"client's second and third are backups", links: 3, stream: true, start: multipath},
		{name: "OpenVPN, three remotes", how: "AES-256-GCM, `keepalive 1 3`, `persist-tun`, `connect-retry 1 1`, " +
			"`server-poll-timeout 1`", links: 3, start: openVPN("AES-256-GCM")},
		{name: "tinc, three addresses", how: "`PingInterval = 1`, `PingTimeout = 1`, `MaxTimeout = 1`, the least " +
			"that it takes", links: 3, start: tinc("")},
		{name: "fastd, three remotes", how: "default times, which its configuration cannot change", links: 3, start: fastd},
	}
}

// bare is no contender's network, but the link.
func bare(context.Context, *network) (netip.Addr, error) {
	return netlab.Address(netlab.Server, 0), nil
}
