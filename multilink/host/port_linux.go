package host

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

const (
	// maxBatch is the most frames of one Read.
	maxBatch = 128
	// readSize holds the longest super-frame with its header.
	readSize = vnetSize + etherSize + 2*vlanSize + ipv6Size + maxIP + 1
)

// Port is a [multilink.FramePort] at a TAP device. [Host.Port] creates it.
type Port struct {
	name    string
	mtu     int
	offload bool
	file    *os.File
	raw     syscall.RawConn
	remove  func() error // undoes what was created around the device
	once    sync.Once
	closed  atomic.Bool
	dropped atomic.Uint64
	faulty  atomic.Uint64

	// Of the reader, of which there is one.
	readReady func(fd uintptr) bool
	readTo    *multilink.Batch
	readErr   error
	buffer    []byte
	cut       segmenter

	// Of the writer that holds the mutex.
	mutex     sync.Mutex
	writeAll  func(fd uintptr) bool
	writeFrom [][]byte
	writeErr  error
	writeFD   uintptr
	join      *coalescer
	header    [vnetSize]byte
	vector    []unix.Iovec
}

func newPort(name string, mtu int, file *os.File, offload bool) (*Port, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("create port %q: %w", name, err)
	}
	p := &Port{name: name, mtu: mtu, offload: offload, file: file, raw: raw,
		buffer: make([]byte, readSize), vector: make([]unix.Iovec, 2+maxSegments)}
	// Made once: a closure for each call would be an allocation for each call.
	p.readReady, p.writeAll = p.readFrames, p.writeFrames
	p.join = newCoalescer(p.put)
	return p, nil
}

// MTU returns the largest payload of a frame, as configured.
func (p *Port) MTU() int { return p.mtu }

// Offload reports whether the kernel exchanges super-frames with the port.
func (p *Port) Offload() bool { return p.offload }

// Dropped returns the number of frames that Write was given and the device did not take,
// and of frames from the device that could not be parsed.
func (p *Port) Dropped() uint64 { return p.dropped.Load() + p.faulty.Load() }

// Read waits for frames and appends from 1 to 128 to the batch.
func (p *Port) Read(batch *multilink.Batch) error {
	p.readTo, p.readErr = batch, nil
	err := p.raw.Read(p.readReady)
	p.readTo = nil
	return p.failure("read", errors.Join(err, p.readErr))
}

// readFrames reads until nothing is there, or the batch is full. It reports
// whether it has frames or an error.
func (p *Port) readFrames(fd uintptr) bool {
	count := 0
	for {
		for count < maxBatch && p.cut.more() {
			p.readTo.Commit(p.cut.next(p.readTo.Next()))
			count++
		}
		if count == maxBatch {
			return true
		}
		n, err := unix.Read(int(fd), p.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return count > 0
		case err != nil:
			p.readErr = err
			return true
		case n <= vnetSize:
			p.faulty.Add(1)
			continue
		}
		var header vnetHeader
		header.decode(p.buffer)
		if p.cut.reset(&header, p.buffer[vnetSize:n]) != nil {
			p.faulty.Add(1)
		}
	}
}

// Write delivers frames in their order; those of different TCP connections may
// pass each other. What the device does not take is dropped and counted.
func (p *Port) Write(frames [][]byte) error {
	if len(frames) == 0 {
		return nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.writeFrom, p.writeErr = frames, nil
	err := p.raw.Write(p.writeAll)
	p.writeFrom = nil
	return p.failure("write", errors.Join(err, p.writeErr))
}

// writeFrames writes the frames without waiting.
func (p *Port) writeFrames(fd uintptr) bool {
	p.writeFD = fd
	for _, frame := range p.writeFrom {
		switch {
		case len(frame) < etherSize:
			p.dropped.Add(1)
		case p.offload:
			p.join.add(frame)
		default:
			p.put(vnetHeader{}, frame, nil)
		}
	}
	p.join.flush()
	return true
}

// put writes one frame, or super-frame.
func (p *Port) put(h vnetHeader, head []byte, payload [][]byte) {
	h.encode(p.header[:])
	p.vector[0].Base = &p.header[0]
	p.vector[0].SetLen(vnetSize)
	p.vector[1].Base = &head[0]
	p.vector[1].SetLen(len(head))
	for i, part := range payload {
		p.vector[2+i].Base = &part[0]
		p.vector[2+i].SetLen(len(part))
	}
	vector := p.vector[:2+len(payload)]
	for {
		_, _, errno := unix.Syscall(unix.SYS_WRITEV, p.writeFD, uintptr(unsafe.Pointer(&vector[0])), uintptr(len(vector)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			p.dropped.Add(uint64(max(1, len(payload))))
			if errno == unix.EBADFD || errno == unix.EBADF {
				p.writeErr = errno
			}
		}
		break
	}
	clear(vector) // the caller owns the frames
}

// failure returns the error of a port for an error of its device.
func (p *Port) failure(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case p.closed.Load():
		return fmt.Errorf("%s port %q: %w", verb, p.name, multilink.ErrClosed)
	case p.removed():
		return fmt.Errorf("%s port %q: the device was removed: %w", verb, p.name, multilink.ErrClosed)
	}
	return fmt.Errorf("%s port %q: %w", verb, p.name, err)
}

// removed reports whether the file has no device any more.
func (p *Port) removed() bool {
	request, err := unix.NewIfreq(p.name)
	if err != nil {
		return false
	}
	var answer error
	err = p.raw.Control(func(fd uintptr) { answer = unix.IoctlIfreq(int(fd), unix.TUNGETIFF, request) })
	return err == nil && errors.Is(answer, unix.EBADFD)
}

// Close ends Read and Write and removes the device and what was created for it. A
// second Close returns nil, as soon as the first is done.
func (p *Port) Close() error {
	var err error
	p.once.Do(func() {
		p.closed.Store(true)
		err = errors.Join(p.file.Close(), p.remove())
		if err != nil {
			err = fmt.Errorf("close port %q: %w", p.name, err)
		}
	})
	return err
}
