package multilink

import (
	"errors"
	"time"
)

// portPause is how long the port's reader waits at most for room on a path. It is
// short: the frames behind may use another link, or be more urgent.
const portPause = 5 * time.Millisecond

// portReader is the port in use and the goroutine that reads it.
type portReader struct {
	config PortConfig
	port   FramePort
	done   chan struct{}
}

// readPort starts to read a port.
func (b *Bond) readPort(config PortConfig, port FramePort) *portReader {
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
					b.log.Error("read port: frames of this host are not carried any more", "port", config.Name, "err", err)
				}
				return
			}
			b.fromPort(batch.Frames(), &lists)
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
func (b *Bond) write(p *forwarding, frames [][]byte) {
	if p.port == nil || len(frames) == 0 {
		return
	}
	if err := p.port.Write(frames); err != nil && !errors.Is(err, ErrClosed) {
		b.log.Debug("write port", "err", err)
	}
}
