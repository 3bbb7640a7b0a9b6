package multilink

import (
	"encoding/binary"
	"time"
)

const (
	maxLinks = 32 // of one bond
	maxSpans = 32 // acknowledged runs in a probe

	probeFixed  = 67 // bytes before the reports
	reportBytes = 7
	maxProbeLen = HeaderSize + probeFixed + 1 + maxLinks*reportBytes + 1 + maxSpans*2*binary.MaxVarintLen64

	flagEstablished = 1 // the sender has adopted the epoch that it echoes
)

// probe is what the ends of a bond tell each other about its links, many times
// a second over each of them. It plays the part of the control packet of RFC
// 5880 section 4.1, and of an acknowledgement.
type probe struct {
	epoch       uint64 // of the sender
	echo        uint64 // epoch that the sender heard last on this link; 0 is none
	sequence    uint32 // of the probe on this link
	sent        uint64 // sender's clock in nanoseconds, never 0
	echoed      uint64 // sent of the last probe that arrived on this link; 0 is none
	held        time.Duration
	interval    time.Duration // that the sender would like
	applied     time.Duration // that it keeps to until the next one
	multiplier  uint8
	established bool
	floor       uint64 // lowest sequence number that the sender may still send
	next        uint64 // all numbers below were received, or were below the receiver's floor
	reports     []report
	spans       []span // received from next on, ascending
}

// report tells how a link does in the direction towards the probe's sender.
type report struct {
	link  uint32 // hash of its name
	flags uint8
	loss  uint16 // of probes, in 1/65,535
}

const (
	reportHearing = 1 // the link is heard
	reportLate    = 2 // but what is due has not come for a while
)

// append writes the packet of a probe, header included.
func (p *probe) append(b []byte, h header) []byte {
	var fixed [HeaderSize + probeFixed]byte
	h.put(fixed[:])
	f := fixed[HeaderSize:]
	binary.BigEndian.PutUint64(f[0:], p.epoch)
	binary.BigEndian.PutUint64(f[8:], p.echo)
	binary.BigEndian.PutUint32(f[16:], p.sequence)
	binary.BigEndian.PutUint64(f[20:], p.sent)
	binary.BigEndian.PutUint64(f[28:], p.echoed)
	binary.BigEndian.PutUint32(f[36:], microseconds(p.held))
	binary.BigEndian.PutUint32(f[40:], microseconds(p.interval))
	binary.BigEndian.PutUint32(f[44:], microseconds(p.applied))
	f[48] = p.multiplier
	if p.established {
		f[49] = flagEstablished
	}
	binary.BigEndian.PutUint64(f[50:], p.floor)
	binary.BigEndian.PutUint64(f[58:], p.next)
	f[66] = uint8(len(p.reports))
	b = append(b, fixed[:]...)
	for _, r := range p.reports {
		b = binary.BigEndian.AppendUint32(b, r.link)
		b = append(b, r.flags)
		b = binary.BigEndian.AppendUint16(b, r.loss)
	}
	b = append(b, uint8(len(p.spans)))
	from := p.next
	for _, s := range p.spans {
		b = binary.AppendUvarint(b, s.first-from)
		b = binary.AppendUvarint(b, s.last-s.first)
		from = s.last
	}
	return b
}

func microseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), 1<<32-1))
}

// parse reads what follows the header of a probe's packet. It keeps nothing of
// b, reuses the slices of p, and ignores bytes behind the end. It reports
// whether all of it is there and in order.
func (p *probe) parse(b []byte) bool {
	if len(b) < probeFixed {
		return false
	}
	p.epoch = binary.BigEndian.Uint64(b[0:])
	p.echo = binary.BigEndian.Uint64(b[8:])
	p.sequence = binary.BigEndian.Uint32(b[16:])
	p.sent = binary.BigEndian.Uint64(b[20:])
	p.echoed = binary.BigEndian.Uint64(b[28:])
	p.held = time.Duration(binary.BigEndian.Uint32(b[36:])) * time.Microsecond
	p.interval = time.Duration(binary.BigEndian.Uint32(b[40:])) * time.Microsecond
	p.applied = time.Duration(binary.BigEndian.Uint32(b[44:])) * time.Microsecond
	p.multiplier = b[48]
	p.established = b[49]&flagEstablished != 0
	p.floor = binary.BigEndian.Uint64(b[50:])
	p.next = binary.BigEndian.Uint64(b[58:])
	links := int(b[66])
	b = b[probeFixed:]
	p.reports, p.spans = p.reports[:0], p.spans[:0]
	if p.epoch == 0 || p.sent == 0 || p.interval < minProbe || p.interval > maxProbe ||
		p.applied < minProbe || p.applied > maxProbe || p.multiplier < 2 ||
		p.floor > sequenceMask || p.next > sequenceMask || links > maxLinks || len(b) < links*reportBytes+1 {
		return false
	}
	for range links {
		p.reports = append(p.reports, report{binary.BigEndian.Uint32(b), b[4], binary.BigEndian.Uint16(b[5:])})
		b = b[reportBytes:]
	}
	return p.parseSpans(int(b[0]), b[1:])
}

func (p *probe) parseSpans(count int, b []byte) bool {
	if count > maxSpans {
		return false
	}
	from := p.next
	for range count {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap > sequenceMask {
			return false
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > sequenceMask || from+gap+length > sequenceMask {
			return false
		}
		b = b[n+m:]
		p.spans = append(p.spans, span{from + gap, from + gap + length})
		from += gap + length
	}
	return true
}
