package wg

import (
	"bufio"
	"encoding/hex"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/multilink"
)

// figures are what WireGuard reports of a peer.
type figures struct {
	handshake      int64 // nanoseconds since 1970; 0 is never
	endpoint       netip.AddrPort
	sent, received uint64
}

// readFigures reads the answer to a "get" of WireGuard's cross-platform
// configuration protocol. Unknown keys are skipped.
func readFigures(r io.Reader) (map[multilink.Key]figures, error) {
	all := make(map[multilink.Key]figures)
	var key multilink.Key
	var now figures
	known := false
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		name, value, _ := strings.Cut(scan.Text(), "=")
		if name == "public_key" {
			if known {
				all[key] = now
			}
			now = figures{}
			n, err := hex.Decode(key[:], []byte(value)[:min(len(value), 2*len(key))])
			known = err == nil && n == len(key)
			continue
		}
		number, _ := strconv.ParseUint(value, 10, 63)
		switch name {
		case "endpoint":
			now.endpoint, _ = netip.ParseAddrPort(value)
		case "last_handshake_time_sec":
			now.handshake += int64(number) * 1e9
		case "last_handshake_time_nsec":
			now.handshake += int64(number)
		case "tx_bytes":
			now.sent = number
		case "rx_bytes":
			now.received = number
		}
	}
	if known {
		all[key] = now
	}
	return all, scan.Err()
}
