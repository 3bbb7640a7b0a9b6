//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// probeSize is the length of a probe, which begins with probeMagic: a mark and the
// version. Behind it there may be the path MTU, and padding. Earlier releases refuse
// what is longer, and have zeros in the place of Longest.
const (
	probeSize    = 48
	probeMagic   = 0x6d6c6b01
	probeHeaders = 40 + 8 // of IPv6 and UDP
)

// probe is the packet that both ends of a tunnel send at every interval, big endian.
// It is as authentic as the tunnel; see the package's documentation.
type probe struct {
	// Hears is true while the sender hears the receiver.
	Hears bool
	// LossRx is the percentage of the receiver's probes that did not arrive.
	LossRx uint8
	// Sequence counts the probes of the sender over this link.
	Sequence uint64
	// Sent is the sender's clock. Only differences mean anything.
	Sent time.Duration
	// Echo is the Sent of the newest probe that the sender got. Zero means none.
	Echo time.Duration
	// Held is how long ago that was.
	Held time.Duration
	// Interval at which the sender sends.
	Interval time.Duration
	// Longest packet of the tunnel that arrived from the receiver lately, in bytes, at
	// least 1. Zero is a sender of an earlier release.
	Longest uint16
	// PathMTU is the longest packet of the tunnel that the sender knows to arrive at the
	// receiver, in bytes. Zero is unknown, as for a receiver of an earlier release.
	PathMTU uint16
}

func (p probe) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, probeMagic)
	hears := byte(0)
	if p.Hears {
		hears = 1
	}
	b = append(b, hears, p.LossRx)
	b = binary.BigEndian.AppendUint16(b, p.Longest)
	for _, number := range []uint64{p.Sequence, uint64(p.Sent), uint64(p.Echo), uint64(p.Held), uint64(p.Interval)} {
		b = binary.BigEndian.AppendUint64(b, number)
	}
	if p.PathMTU > 0 {
		b = binary.BigEndian.AppendUint16(b, p.PathMTU)
	}
	return b
}

// padded returns the probe as a packet of the tunnel of that many bytes.
func (p probe) padded(length int) []byte {
	b := p.append(nil)
	return append(b, make([]byte, max(0, length-probeHeaders-len(b)))...)
}

// parseProbe reads a probe. One with numbers that no sender of ours would write
// is refused, so that what comes of them needs no second look.
func parseProbe(b []byte) (probe, error) {
	const longest = 1000 * 24 * time.Hour
	if len(b) < probeSize || binary.BigEndian.Uint32(b) != probeMagic {
		return probe{}, fmt.Errorf("parse probe: not %d bytes or more of this version: %w", probeSize, multilink.ErrInvalid)
	}
	number := func(at int) time.Duration { return time.Duration(binary.BigEndian.Uint64(b[at:])) }
	p := probe{
		Hears: b[4] == 1, LossRx: min(b[5], 100), Longest: binary.BigEndian.Uint16(b[6:]),
		Sequence: binary.BigEndian.Uint64(b[8:]),
		Sent:     number(16), Echo: number(24), Held: number(32), Interval: number(40),
	}
	if len(b) >= probeSize+2 {
		p.PathMTU = binary.BigEndian.Uint16(b[probeSize:])
	}
	for _, d := range []time.Duration{p.Sent, p.Echo, p.Held} {
		if d < 0 || d > longest {
			return probe{}, fmt.Errorf("parse probe: a time of %v: %w", d, multilink.ErrInvalid)
		}
	}
	if p.Interval < settings.MinProbeInterval || p.Interval > settings.MaxProbeInterval {
		return probe{}, fmt.Errorf("parse probe: an interval of %v: %w", p.Interval, multilink.ErrInvalid)
	}
	return p, nil
}
