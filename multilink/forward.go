package multilink

import (
	"errors"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
)

// portPause is how long the port's reader waits at most for a lane to take
// more. It is short: what waits behind may go over another link, or be more
// urgent.
const portPause = 5 * time.Millisecond

// enginePort is the port in use and the goroutine that reads it.
type portReader struct {
	config PortConfig
	port   FramePort
	done   chan struct{}
}

// readPort starts to read a port.
func (e *Bond) readPort(config PortConfig, port FramePort) *portReader {
	p := &portReader{config: config, port: port, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		var (
			batch Batch
			lists sendLists
		)
		for {
			batch.Reset()
			if err := port.Read(&batch); err != nil {
				if !errors.Is(err, ErrClosed) {
					e.log.Error("read port: frames of this host are not carried any more", "port", config.Name, "err", err)
				}
				return
			}
			e.fromPort(batch.Frames(), &lists)
		}
	}()
	return p
}

func (p *portReader) close() error {
	err := p.port.Close()
	<-p.done
	return err
}

// write delivers frames to the host.
func (e *Bond) write(p *forwarding, frames [][]byte) {
	if p.port == nil || len(frames) == 0 {
		return
	}
	if err := p.port.Write(frames); err != nil && !errors.Is(err, ErrClosed) {
		e.log.Debug("write port", "err", err)
	}
}

// sendLists sort a batch of frames by where they go, so that a bond is locked
// once for all of its frames. The zero value is ready.
type sendLists struct {
	local  [][]byte
	used   []sendList
	places map[ethernet.Port]int
	ports  []ethernet.Port
}

type sendList struct {
	peer   *peer // nil once it left
	frames []outgoing
}

func (l *sendLists) reset() {
	l.local = l.local[:0]
	for i := range l.used {
		clear(l.used[i].frames)
		l.used[i] = sendList{frames: l.used[i].frames[:0]}
	}
	l.used = l.used[:0]
	clear(l.places)
	if l.places == nil {
		l.places = make(map[ethernet.Port]int)
	}
}

// add puts a frame where the table says that it goes.
func (l *sendLists) add(p *forwarding, table *ethernet.Switch, from ethernet.Port, o outgoing) {
	l.ports = table.Forward(l.ports[:0], from, o.frame)
	for _, to := range l.ports {
		if to == ethernet.LocalPort {
			l.local = append(l.local, o.frame)
			continue
		}
		place, known := l.places[to]
		if !known {
			place = len(l.used)
			l.places[to] = place
			if place < cap(l.used) {
				l.used = l.used[:place+1]
			} else {
				l.used = append(l.used, sendList{})
			}
			l.used[place].peer = p.peers[to]
		}
		l.used[place].frames = append(l.used[place].frames, o)
	}
}
