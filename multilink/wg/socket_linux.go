package wg

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
)

// udpConn is a socket of the kernel.
type udpConn struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	port uint16
	gro  bool        // the kernel hands over several datagrams as one
	gso  atomic.Bool // and takes them so
	// refused counts how often in a row the kernel took several as one not.
	refused atomic.Int32
}

// linuxSocket moves up to batch datagrams with a system call. The kernel's
// socket below it may be replaced.
type linuxSocket struct {
	network   string
	device    string
	mark      uint32
	noOffload bool
	remotes   *remotes

	live    atomic.Pointer[udpConn]
	mu      sync.Mutex // held while live is replaced
	closed  bool
	reader  reader
	writers sync.Pool
}

var _ socket = (*linuxSocket)(nil)

func newLinuxSocket(network, device string, o Options, rs *remotes) *linuxSocket {
	s := &linuxSocket{
		network: network, device: device, mark: o.Mark, remotes: rs,
		noOffload: o.NoOffload,
	}
	s.writers.New = func() any { return newWriter() }
	return s
}

// control runs f with the descriptor.
func (s *linuxSocket) control(f func(fd uintptr)) error { return s.live.Load().raw.Control(f) }

// reopen replaces the kernel's socket by one that is bound to the interface
// that has the name now. The receiver goes on with it.
func (s *linuxSocket) reopen(port uint16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	c, err := s.open(port)
	if err != nil {
		return err
	}
	return s.live.Swap(c).conn.Close()
}

func (s *linuxSocket) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.live.Load().conn.Close()
}

// message is the kernel's struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
}

// sockaddr has room for an address of either version.
type sockaddr = unix.RawSockaddrInet6

// setAddress writes an address and returns its length.
func setAddress(at *sockaddr, to *remote) uint32 {
	port := to.to.Port()
	if to.to.Addr().Is4() {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(at))
		*v4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.to.Addr().As4()}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&v4.Port))[:], port)
		return unix.SizeofSockaddrInet4
	}
	*at = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: to.to.Addr().As16(), Scope_id: to.scope}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&at.Port))[:], port)
	return unix.SizeofSockaddrInet6
}

// getAddress reads an address that the kernel wrote. The zone of a link-local
// one is kept only if the socket is not bound to an interface anyway.
func getAddress(at *sockaddr, bound bool) netip.AddrPort {
	if at.Family == unix.AF_INET {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(at))
		port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&v4.Port))[:])
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), port)
	}
	ip := netip.AddrFrom16(at.Addr)
	if at.Scope_id != 0 && !bound {
		ip = ip.WithZone(strconv.Itoa(int(at.Scope_id)))
	}
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&at.Port))[:]))
}

// move calls recvmmsg or sendmmsg without blocking, again if a signal came.
func move(call, fd uintptr, messages []message) (int, unix.Errno) {
	for {
		n, _, errno := unix.Syscall6(call, fd, uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// writer is what a call of send needs. The functions are created once, so that a
// call allocates nothing.
type writer struct {
	messages [batch]message
	pieces   [batch]unix.Iovec
	controls [batch]segmentControl
	to       sockaddr

	first, last int // messages to send
	sent        int
	errno       unix.Errno
	now         func(fd uintptr)
	waiting     func(fd uintptr) bool
}

func newWriter() *writer {
	w := new(writer)
	w.now = func(fd uintptr) { w.sent, w.errno = move(unix.SYS_SENDMMSG, fd, w.messages[w.first:w.last]) }
	w.waiting = func(fd uintptr) bool {
		w.now(fd)
		return w.errno != unix.EAGAIN
	}
	return w
}

// fill prepares messages of bufs[from:], several in one if segmented.
func (w *writer) fill(bufs [][]byte, to *remote, segmented bool) {
	length := setAddress(&w.to, to)
	w.first, w.last = 0, 0
	for i := 0; i < len(bufs); {
		n := 1
		if segmented {
			n = alike(bufs[i:])
		}
		for j, buf := range bufs[i : i+n] {
			w.pieces[i+j].Base = unsafe.SliceData(buf)
			w.pieces[i+j].SetLen(len(buf))
		}
		h := &w.messages[w.last].header
		*h = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&w.to)), Namelen: length, Iov: &w.pieces[i]}
		h.SetIovlen(n)
		if n > 1 {
			w.controls[w.last].set(uint16(len(bufs[i])))
			h.Control = (*byte)(unsafe.Pointer(&w.controls[w.last]))
			h.SetControllen(len(w.controls[w.last].bytes()))
		}
		w.last++
		i += n
	}
}

// datagrams returns how many datagrams the messages before first hold.
func (w *writer) datagrams() int {
	n := 0
	for i := range w.first {
		n += int(w.messages[i].header.Iovlen)
	}
	return n
}

func (s *linuxSocket) send(bufs [][]byte, to *remote) (stuck bool, err error) {
	w := s.writers.Get().(*writer)
	defer func() {
		clear(w.pieces[:len(bufs)])
		s.writers.Put(w)
	}()
	c := s.live.Load()
	segmented := c.gso.Load()
	w.fill(bufs, to, segmented)
	for w.first < w.last {
		if failure := c.raw.Control(w.now); failure != nil {
			return stuck, failure
		}
		if w.errno == unix.EAGAIN {
			stuck = true
			if failure := c.wait(w); failure != nil {
				return stuck, failure
			}
		}
		if w.errno == 0 {
			w.first += w.sent
			continue
		}
		if several := w.messages[w.first].header.Iovlen > 1; several && c.refuse(w.errno) {
			rest := bufs[w.datagrams():]
			clear(w.pieces[:len(bufs)])
			bufs, segmented = rest, false
			w.fill(bufs, to, false)
			continue
		}
		if err == nil {
			err = os.NewSyscallError("sendmmsg", w.errno)
		}
		if down(w.errno) {
			return stuck, err
		}
		w.first++ // that message is lost, and none other with it
	}
	if segmented && c.refused.Load() != 0 {
		c.refused.Store(0)
	}
	return stuck, err
}

// wait sends once the kernel has room again.
func (c *udpConn) wait(w *writer) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(maxStuck)); err != nil {
		return err
	}
	err := c.raw.Write(w.waiting)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errStuck
	}
	return err
}

// reader is what a call of receive needs. One goroutine uses it.
type reader struct {
	messages [batch]message
	pieces   [batch]unix.Iovec
	names    [batch]sockaddr
	controls [batch]segmentControl
	count    int // messages to fill
	got      int
	errno    unix.Errno
	ready    func(fd uintptr) bool
	last     *remote

	// Several datagrams that came as one, and what of them was handed on.
	coalesced  [][]byte
	next, from int
}

func (r *reader) init() {
	r.ready = func(fd uintptr) bool {
		r.got, r.errno = move(unix.SYS_RECVMMSG, fd, r.messages[:r.count])
		return r.errno != unix.EAGAIN
	}
}

// prepare has message i be written into buf.
func (r *reader) prepare(i int, buf []byte) {
	r.pieces[i].Base = unsafe.SliceData(buf)
	r.pieces[i].SetLen(len(buf))
	h := &r.messages[i].header
	*h = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&r.names[i])), Namelen: unix.SizeofSockaddrInet6, Iov: &r.pieces[i]}
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(&r.controls[i]))
	h.SetControllen(len(r.controls[i].bytes()))
}

// sender returns whom message i is from.
func (s *linuxSocket) sender(i int) *remote {
	to := getAddress(&s.reader.names[i], s.device != "")
	if s.reader.last == nil || s.reader.last.to != to {
		s.reader.last = s.remotes.get(to)
	}
	return s.reader.last
}

func (s *linuxSocket) receive(bufs [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
	r := &s.reader
	if r.ready == nil {
		r.init()
	}
	if n := s.split(bufs, sizes, from); n > 0 {
		return n, nil
	}
	for failures := 0; ; failures++ {
		c := s.live.Load()
		if c.gro && r.coalesced == nil {
			r.coalesced = make([][]byte, coalescedBuffers)
			for i := range r.coalesced {
				r.coalesced[i] = make([]byte, 1<<16-1)
			}
		}
		into := bufs[:min(len(bufs), batch)]
		if c.gro {
			into = r.coalesced
		}
		r.count = len(into)
		for i, buf := range into {
			r.prepare(i, buf)
		}
		if err := c.raw.Read(r.ready); err != nil {
			if s.live.Load() != c {
				continue // it was replaced
			}
			return 0, net.ErrClosed
		}
		if r.errno != 0 {
			settle(failures)
			continue
		}
		if c.gro {
			r.next, r.from = 0, 0
			if n := s.split(bufs, sizes, from); n > 0 {
				return n, nil
			}
			continue
		}
		n := r.got
		r.got = 0
		for i := range n {
			sizes[i], from[i] = int(r.messages[i].length), s.sender(i)
		}
		if n > 0 {
			return n, nil
		}
	}
}
