package wg

import (
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
)

// Segmentation and coalescing of UDP by the kernel: udp(7), UDP_SEGMENT since
// Linux 4.18 and UDP_GRO since 5.0.
const (
	maxSegments = 64
	maxTogether = 65000 // bytes: less than any datagram may have
	// coalescedBuffers is how many messages are received with a call, each of
	// which may hold as many datagrams as fit into 64 KiB.
	coalescedBuffers = 8
	// maxRefused is how often in a row the kernel may refuse several datagrams
	// as one before it is not tried any more.
	maxRefused = 8
)

// detect finds out what the kernel can do. UDP_GRO counts only where it can be
// read back, since Linux 5.12: before, coalescing had errors.
func (c *udpConn) detect(fd uintptr) {
	_, err := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT)
	c.gso.Store(err == nil)
	if unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1) == nil {
		on, err := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO)
		if c.gro = err == nil && on == 1; !c.gro {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 0)
		}
	}
}

// refuse reports whether an error is about several datagrams as one, so that
// they must be sent one by one. EIO is a driver that computes no checksums,
// for good; EINVAL may be a path with a smaller MTU.
func (c *udpConn) refuse(errno unix.Errno) bool {
	switch errno {
	case unix.EIO, unix.EOPNOTSUPP, unix.ENOPROTOOPT:
		c.gso.Store(false)
	case unix.EINVAL, unix.EMSGSIZE:
		if c.refused.Add(1) >= maxRefused {
			c.gso.Store(false)
		}
	default:
		return false
	}
	return true
}

// alike returns how many of bufs, from the first on, can go as one: all of the same
// length, but for the last, which may be shorter.
func alike(bufs [][]byte) int {
	size := len(bufs[0])
	total, n := size, 1
	for n < len(bufs) && n < maxSegments && size > 0 {
		next := len(bufs[n])
		if next > size || next == 0 || total+next > maxTogether {
			break
		}
		total += next
		n++
		if next < size {
			break
		}
	}
	return n
}

// segmentControl is a control message with the length of segments: a
// struct cmsghdr and its data, with room for what the kernel pads.
type segmentControl struct {
	header unix.Cmsghdr
	data   [8]byte
}

func (m *segmentControl) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m))
}

// set sets the length of segments.
func (m *segmentControl) set(size uint16) {
	*m = segmentControl{}
	m.header.Level, m.header.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	m.header.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&m.data)) = size
}

// size returns the length of segments that the kernel says, 0 for a single datagram.
// got is how many bytes of control messages there are.
func (m *segmentControl) size(got int) int {
	if got < unix.CmsgLen(4) || m.header.Level != unix.SOL_UDP || m.header.Type != unix.UDP_GRO {
		return 0
	}
	return int(*(*int32)(unsafe.Pointer(&m.data)))
}

// split hands on datagrams that came as one.
func (s *linuxSocket) split(bufs [][]byte, sizes []int, from []conn.Endpoint) int {
	r := &s.reader
	n := 0
	for n < len(bufs) && r.next < r.got {
		m := &r.messages[r.next]
		whole := r.coalesced[r.next][:m.length]
		size := r.controls[r.next].size(int(m.header.Controllen))
		if size <= 0 || size > len(whole) {
			size = len(whole)
		}
		who := s.sender(r.next)
		for n < len(bufs) && r.from < len(whole) {
			piece := whole[r.from:min(r.from+size, len(whole))]
			sizes[n], from[n] = copy(bufs[n], piece), who
			r.from += len(piece)
			n++
		}
		if r.from >= len(whole) {
			r.next, r.from = r.next+1, 0
		}
	}
	if r.next >= r.got {
		r.got, r.next = 0, 0
	}
	return n
}
