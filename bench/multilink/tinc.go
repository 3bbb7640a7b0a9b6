package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/internal/netlab"
)

// tincFastest is the fastest cipher and digest of tinc here.
const tincFastest = "aes-128-cbc and sha1"

// tinc starts two tincd in switch mode, with their default cipher or a "cipher
// and digest". The client knows the server's address on each link.
func tinc(algorithms string) func(context.Context, *network) (netip.Addr, error) {
	return func(ctx context.Context, n *network) (netip.Addr, error) {
		names := [2]string{netlab.Client: "client", netlab.Server: "server"}
		var hosts [2]string
		for side, name := range names {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				return netip.Addr{}, err
			}
			private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
			if _, err := n.file(netlab.Side(side), "rsa_key.priv", string(private)); err != nil {
				return netip.Addr{}, err
			}
			hosts[side] = n.tincHost(netlab.Side(side), algorithms) +
				string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)}))
			config := fmt.Sprintf("Name = %s\nMode = switch\nInterface = %s\nAddressFamily = ipv4\n", name, tap)
			if netlab.Side(side) == netlab.Client {
				config += "ConnectTo = server\n"
			}
			if n.links > 1 {
				config += "PingInterval = 1\nPingTimeout = 1\nMaxTimeout = 1\n"
			}
			if _, err := n.file(netlab.Side(side), "tinc.conf", config); err != nil {
				return netip.Addr{}, err
			}
		}
		for _, side := range []netlab.Side{netlab.Server, netlab.Client} {
			for of, text := range hosts {
				if _, err := n.file(side, filepath.Join("hosts", names[of]), text); err != nil {
					return netip.Addr{}, err
				}
			}
			folder := n.of(side)
			if _, err := n.start(ctx, side, nil, "tincd", "--config="+folder, "--no-detach",
				"--pidfile="+filepath.Join(folder, "pid")); err != nil {
				return netip.Addr{}, err
			}
		}
		return tunnelled[netlab.Server].Addr(), n.configure(ctx)
	}
}

// tincHost is what others are told of a host, before its key.
func (n *network) tincHost(side netlab.Side, algorithms string) string {
	var b strings.Builder
	if side == netlab.Server {
		for i := range n.links {
			fmt.Fprintf(&b, "Address = %s\n", address(netlab.Server, i))
		}
	}
	// The longest frame of the device, so that tinc need not search for what fits
	// the links, and uses TCP until it knows.
	fmt.Fprintf(&b, "PMTU = %d\n", mtu+ethernetHeader)
	if cipher, digest, ok := strings.Cut(algorithms, " and "); ok {
		fmt.Fprintf(&b, "Cipher = %s\nDigest = %s\n", cipher, digest)
	}
	return b.String()
}

const ethernetHeader = 14
