package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/netlab"
)

// openVPN starts a server and a client of OpenVPN that know each other by the
// fingerprints of their certificates.
func openVPN(cipher string) func(context.Context, *network) (netip.Addr, error) {
	return func(ctx context.Context, n *network) (netip.Addr, error) {
		var identities [2]identity
		for side := range identities {
			var err error
			if identities[side], err = newIdentity(); err != nil {
				return netip.Addr{}, err
			}
		}
		for _, side := range []netlab.Side{netlab.Server, netlab.Client} {
			config, err := n.file(side, "openvpn.conf", n.openVPNConfig(side, cipher, identities[side], identities[1-side]))
			if err != nil {
				return netip.Addr{}, err
			}
			p, err := n.start(ctx, side, nil, "openvpn", "--config", config)
			if err != nil {
				return netip.Addr{}, err
			}
			if _, err := p.Await(ctx, "Initialization Sequence Completed"); err != nil {
				return netip.Addr{}, err
			}
		}
		return tunnelled[netlab.Server].Addr(), n.configure(ctx)
	}
}

// openVPNConfig is the configuration of one side. The options for speed are those
// of openvpn(8): fast-io saves a system call for each packet, txqueuelen and the
// buffers keep bursts; mssfix is not needed where no packet is too long.
func (n *network) openVPNConfig(side netlab.Side, cipher string, own, other identity) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dev %s\ndev-type tap\nproto udp4\nport 1194\npersist-tun\npersist-key\nifconfig-noexec\nsuppress-timestamps\n", tap)
	fmt.Fprintf(&b, "tun-mtu %d\nmssfix 0\nfast-io\ntxqueuelen 1000\nsndbuf 1048576\nrcvbuf 1048576\ndata-ciphers %s\n", mtu, cipher)
	if side == netlab.Server {
		b.WriteString("mode server\ntls-server\ndh none\nmultihome\n")
	} else {
		b.WriteString("tls-client\npull\nnobind\nconnect-retry 1 1\nserver-poll-timeout 1\n")
		for i := range n.links {
			fmt.Fprintf(&b, "remote %s\n", address(netlab.Server, i))
		}
	}
	if n.links > 1 {
		b.WriteString("keepalive 1 3\n")
	}
	fmt.Fprintf(&b, "<peer-fingerprint>\n%s\n</peer-fingerprint>\n<cert>\n%s</cert>\n<key>\n%s</key>\n",
		other.fingerprint, own.certificate, own.key)
	return b.String()
}

// identity is a self-signed certificate and its key, in PEM.
type identity struct {
	certificate, key []byte
	fingerprint      string
}

func newIdentity() (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "benchmark"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return identity{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return identity{}, err
	}
	sum := sha256.Sum256(certificate)
	return identity{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		fingerprint: strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":"),
	}, nil
}
