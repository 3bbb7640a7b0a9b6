package bond

import "github.com/iotenablers/enablers/multilink/internal/packet"

// receiver turns packets of data into frames: it drops duplicates and puts the
// pieces of long frames together.
type receiver struct {
	*core
	window window
	pieces *packet.Reassembler
}

// receive takes a packet of data of the peer's present epoch.
func (r *receiver) receive(h packet.Header, payload []byte, out *Output) {
	switch r.window.accept(h.Sequence) {
	case fresh:
		r.deliver(h, payload, out)
	case duplicate:
		r.counters.Duplicates++
	case expired:
		r.counters.Expired++
	}
}

// deliver appends the frame that a packet completes, if any.
func (r *receiver) deliver(h packet.Header, payload []byte, out *Output) {
	if h.Kind == packet.TypeFragment {
		payload = r.pieces.Add(r.now, h.Sequence, payload)
		if payload == nil {
			return
		}
		r.counters.Reassembled++
	}
	if len(payload) == 0 || len(payload) > packet.MaxFrame {
		return
	}
	r.counters.RxFrames++
	r.counters.RxBytes += uint64(len(payload))
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
