package multilink

import (
	"github.com/iotenablers/enablers/multilink/internal/ethernet"
)

// sendLists sort a batch of frames by destination, so that a peer is locked once for
// all of its frames. The zero value is ready.
type sendLists struct {
	local  [][]byte
	used   []sendList
	places map[ethernet.Port]int
	ports  []ethernet.Port
}

type sendList struct {
	peer   *peer // nil once it is removed
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

// add adds a frame to the lists of its destinations.
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

// forwarding is what the data path needs of a state. It is replaced, never changed.
type forwarding struct {
	classes *ethernet.Classifier
	port    FramePort // nil without one
	peers   map[ethernet.Port]*peer
}

// fromPort forwards a batch of frames that the host sends.
func (b *Bond) fromPort(frames [][]byte, lists *sendLists) {
	p := b.forwarding.Load()
	lists.reset()
	for _, frame := range frames {
		class, flow := p.classes.Classify(frame)
		lists.add(p, b.table, ethernet.LocalPort, outgoing{frame: frame, class: class, flow: flow})
	}
	var full *path
	free := false // some frames had room: those behind them do not wait for the others
	for _, l := range lists.used {
		if l.peer == nil {
			continue
		}
		if size := l.peer.segment(); size > 0 {
			for _, o := range l.frames {
				ethernet.ClampMSS(o.frame, size)
			}
		}
		if full = l.peer.send(l.frames); full == nil {
			free = true
		}
	}
	if full != nil && !free {
		full.wait(portPause)
	}
}

// fromPeer forwards frames that a peer sent: to the host, or to other peers.
func (b *Bond) fromPeer(from ethernet.Port, frames [][]byte) {
	p := b.forwarding.Load()
	if len(p.peers) == 1 {
		// All frames of the only peer are for the host, but the table must learn
		// its addresses.
		local := frames[:0]
		for _, frame := range frames {
			if b.table.Learn(from, frame) {
				local = append(local, frame)
			}
		}
		b.write(p, local)
		return
	}
	lists, _ := b.lists.Get().(*sendLists)
	if lists == nil {
		lists = new(sendLists)
	}
	lists.reset()
	for _, frame := range frames {
		class, flow := p.classes.Classify(frame)
		lists.add(p, b.table, from, outgoing{frame: frame, class: class, flow: flow})
	}
	for _, l := range lists.used {
		if l.peer != nil {
			l.peer.send(l.frames)
		}
	}
	b.write(p, lists.local)
	b.lists.Put(lists)
}
