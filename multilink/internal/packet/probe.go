package packet

import (
	"encoding/binary"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
)

const (
	MaxLinks = 32 // of one bond
	MaxSpans = 32 // acknowledged runs in a probe

	probeFixed  = 67 // bytes before the reports
	reportBytes = 7
	maxProbeLen = HeaderSize + probeFixed + 1 + MaxLinks*reportBytes + 1 + MaxSpans*2*binary.MaxVarintLen64 + 2 + sizesBytes

	flagEstablished = 1 // the sender has adopted the epoch that it echoes
	flagContested   = 2 // several instances use the key of the receiver

	// Behind the spans follow members, each with a byte of type and one of length, up
	// to padding. Earlier releases ignore them, and so are types that are not known.
	memberPadding = 0 // and zeros up to the end of the packet
	memberSizes   = 1 // Longest and PathMTU
	sizesBytes    = 4
)

// Probe reports the state of the links to the other end, many times per second over
// each of them. It has the role of the control packet of RFC 5880 section 4.1, and
// of an acknowledgement.
type Probe struct {
	Epoch       uint64 // of the sender
	Echo        uint64 // epoch that the sender heard last on this link; 0 means none
	Sequence    uint32 // of the probe on this link
	Sent        uint64 // sender's clock in nanoseconds, never 0
	Echoed      uint64 // sent of the last probe that arrived on this link; 0 means none
	Held        time.Duration
	Interval    time.Duration // that the sender requests
	Applied     time.Duration // that it uses until the next probe
	Multiplier  uint8
	Established bool
	Contested   bool   // several instances use the key of the receiver
	Floor       uint64 // lowest sequence number that the sender may still send
	Next        uint64 // all numbers below were received, or were below the receiver's floor
	Reports     []Report
	Spans       []Span // received from next on, ascending
	Sized       bool   // the two that follow are there
	Longest     uint16 // packet that arrived on this link lately, in bytes; 0 means none
	PathMTU     uint16 // longest packet that is known to arrive at the other end; 0 is unknown
}

// Report is the state of a link in the direction towards the probe's sender.
type Report struct {
	Link  uint32 // hash of its name
	Flags uint8
	Loss  uint16 // of probes, in 1/65,535
}

const (
	ReportHearing = 1 // the link is heard
	ReportLate    = 2 // but the last probe is overdue
)

// Append writes the packet of a probe, header included.
func (p *Probe) Append(b []byte, h Header) []byte {
	var fixed [HeaderSize + probeFixed]byte
	h.Put(fixed[:])
	f := fixed[HeaderSize:]
	binary.BigEndian.PutUint64(f[0:], p.Epoch)
	binary.BigEndian.PutUint64(f[8:], p.Echo)
	binary.BigEndian.PutUint32(f[16:], p.Sequence)
	binary.BigEndian.PutUint64(f[20:], p.Sent)
	binary.BigEndian.PutUint64(f[28:], p.Echoed)
	binary.BigEndian.PutUint32(f[36:], microseconds(p.Held))
	binary.BigEndian.PutUint32(f[40:], microseconds(p.Interval))
	binary.BigEndian.PutUint32(f[44:], microseconds(p.Applied))
	f[48] = p.Multiplier
	if p.Established {
		f[49] |= flagEstablished
	}
	if p.Contested {
		f[49] |= flagContested
	}
	binary.BigEndian.PutUint64(f[50:], p.Floor)
	binary.BigEndian.PutUint64(f[58:], p.Next)
	f[66] = uint8(len(p.Reports))
	b = append(b, fixed[:]...)
	for _, r := range p.Reports {
		b = binary.BigEndian.AppendUint32(b, r.Link)
		b = append(b, r.Flags)
		b = binary.BigEndian.AppendUint16(b, r.Loss)
	}
	b = append(b, uint8(len(p.Spans)))
	from := p.Next
	for _, s := range p.Spans {
		b = binary.AppendUvarint(b, s.First-from)
		b = binary.AppendUvarint(b, s.Last-s.First)
		from = s.Last
	}
	if p.Sized {
		b = append(b, memberSizes, sizesBytes)
		b = binary.BigEndian.AppendUint16(b, p.Longest)
		b = binary.BigEndian.AppendUint16(b, p.PathMTU)
	}
	return b
}

// Encode writes the packet of a probe to a buffer of the pool, with padding up to that
// size where it is shorter.
func (p *Probe) Encode(pool *Pool, h Header, size int) *Buffer {
	buffer := pool.Get(max(maxProbeLen, size))
	buffer.data = p.Append(buffer.data[:0], h)
	if used := len(buffer.data); used < size {
		buffer.data = buffer.data[:size]
		clear(buffer.data[used:])
	}
	return buffer
}

func microseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), 1<<32-1))
}

// Parse reads what follows the header of a probe's packet. It keeps nothing of
// b, reuses the slices of p, and ignores bytes behind the end. It reports
// whether all of it is there and in order.
func (p *Probe) Parse(b []byte) bool {
	if len(b) < probeFixed {
		return false
	}
	p.Epoch = binary.BigEndian.Uint64(b[0:])
	p.Echo = binary.BigEndian.Uint64(b[8:])
	p.Sequence = binary.BigEndian.Uint32(b[16:])
	p.Sent = binary.BigEndian.Uint64(b[20:])
	p.Echoed = binary.BigEndian.Uint64(b[28:])
	p.Held = time.Duration(binary.BigEndian.Uint32(b[36:])) * time.Microsecond
	p.Interval = time.Duration(binary.BigEndian.Uint32(b[40:])) * time.Microsecond
	p.Applied = time.Duration(binary.BigEndian.Uint32(b[44:])) * time.Microsecond
	p.Multiplier = b[48]
	p.Established = b[49]&flagEstablished != 0
	p.Contested = b[49]&flagContested != 0
	p.Floor = binary.BigEndian.Uint64(b[50:])
	p.Next = binary.BigEndian.Uint64(b[58:])
	links := int(b[66])
	b = b[probeFixed:]
	p.Reports, p.Spans = p.Reports[:0], p.Spans[:0]
	if p.Epoch == 0 || p.Sent == 0 || p.Interval < settings.MinProbeInterval || p.Interval > settings.MaxProbeInterval ||
		p.Applied < settings.MinProbeInterval || p.Applied > settings.MaxProbeInterval || p.Multiplier < 2 ||
		p.Floor > SequenceMask || p.Next > SequenceMask || links > MaxLinks || len(b) < links*reportBytes+1 {
		return false
	}
	for range links {
		p.Reports = append(p.Reports, Report{binary.BigEndian.Uint32(b), b[4], binary.BigEndian.Uint16(b[5:])})
		b = b[reportBytes:]
	}
	rest, ok := p.parseSpans(int(b[0]), b[1:])
	if ok {
		p.parseMembers(rest)
	}
	return ok
}

// parseMembers reads what follows the spans, up to what it cannot read.
func (p *Probe) parseMembers(b []byte) {
	p.Sized = false
	p.Longest = 0
	p.PathMTU = 0
	for len(b) >= 2 && b[0] != memberPadding && len(b) >= 2+int(b[1]) {
		if member := b[2 : 2+int(b[1])]; b[0] == memberSizes && len(member) >= sizesBytes {
			p.Sized = true
			p.Longest, p.PathMTU = binary.BigEndian.Uint16(member), binary.BigEndian.Uint16(member[2:])
		}
		b = b[2+int(b[1]):]
	}
}

func (p *Probe) parseSpans(count int, b []byte) (rest []byte, ok bool) {
	if count > MaxSpans {
		return nil, false
	}
	from := p.Next
	for range count {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap > SequenceMask {
			return nil, false
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > SequenceMask || from+gap+length > SequenceMask {
			return nil, false
		}
		b = b[n+m:]
		p.Spans = append(p.Spans, Span{from + gap, from + gap + length})
		from += gap + length
	}
	return b, true
}
