package bond

import "github.com/iotenablers/enablers/multilink/internal/packet"

// receiver turns packets of data into frames: it drops duplicates and puts the
// pieces of long frames together.
type receiver struct {
	*core
	window window
	pieces *packet.Reassembler
}

// deliver appends the frame that a packet completes, if any.
func (r *receiver) deliver(h packet.Header, payload []byte, out *Output) {
	c := r.core
	if h.Kind == packet.TypeFragment {
		payload = r.pieces.Add(c.now, h.Sequence, payload)
		if payload == nil {
			return
		}
		c.counters.Reassembled++
	}
	if len(payload) == 0 || len(payload) > packet.MaxFrame {
		return
	}
	c.counters.RxFrames++
	c.counters.RxBytes += uint64(len(payload))
	out.Frames = append(out.Frames, payload)
}

// expire gives up frames whose pieces do not come, and requests the next Tick.
func (r *receiver) expire() {
	r.pieces.Expire(r.now)
	if at, ok := r.pieces.Next(); ok {
		r.wake(at)
	}
}

// reset drops what an earlier life of the peer sent.
func (r *receiver) reset() {
	r.window.reset()
	r.pieces.Reset()
}
