package packet

import (
	"encoding/binary"
	"time"
)

// A frame that is longer than what the smallest usable link carries is sent in
// pieces, each in a packet of type TypeFragment. Behind the packet's header
// comes that of the piece:
//
//	byte 0     bit 7: this is the last piece; bits 0 to 6: its index, from 0
//	bytes 1, 2 length of the frame
//
// The pieces of a frame have consecutive sequence numbers, so that the number
// of its first piece identifies it: sequence less index. All pieces but the
// last are of one length, so that index and length say where each belongs, and
// no two can overlap.
const (
	pieceHeaderSize = 3
	maxPieces       = 128
	lastPiece       = 0x80

	// What a bond holds of frames whose pieces have not all come. The time is
	// that of a replay over a slow link.
	ReassemblyBytes = 1 << 20
	ReassemblyAge   = time.Second
)

// Split is a frame and how it is cut: in pieces of about the same length.
type Split struct {
	frame []byte
	piece int // length of all pieces but the last
	Count int
}

// NewSplit cuts a frame for packets of up to mtu bytes. It reports false where
// that cannot be done: for empty frames and those that are too long, and links
// that carry next to nothing.
func NewSplit(frame []byte, mtu int) (Split, bool) {
	room := min(mtu, HeaderSize+pieceHeaderSize+MaxFrame) - HeaderSize - pieceHeaderSize
	if room < 1 || len(frame) == 0 || len(frame) > MaxFrame {
		return Split{}, false
	}
	count := (len(frame) + room - 1) / room
	piece := (len(frame) + count - 1) / count
	// Rounding may have made the pieces so long that fewer do.
	count = (len(frame) + piece - 1) / piece
	return Split{frame: frame, piece: piece, Count: count}, count <= maxPieces
}

// Size of the packet that carries piece i, headers included.
func (s Split) Size(i int) int { return HeaderSize + pieceHeaderSize + len(s.part(i)) }

// Put writes piece i, with its header, to where a packet of that size has its
// payload: behind the packet's header.
func (s Split) Put(i int, payload []byte) {
	payload[0] = byte(i)
	if i == s.Count-1 {
		payload[0] |= lastPiece
	}
	binary.BigEndian.PutUint16(payload[1:], uint16(len(s.frame)))
	copy(payload[pieceHeaderSize:], s.part(i))
}

func (s Split) part(i int) []byte {
	return s.frame[i*s.piece : min((i+1)*s.piece, len(s.frame))]
}

// Reassembler puts the frames of one peer together again. What it holds is
// bounded in bytes and in time: the oldest frame goes first. The zero value is
// not ready, see NewReassembler.
type Reassembler struct {
	maxBytes int
	maxAge   time.Duration
	Bytes    int
	open     map[uint64]*partial // by the sequence number of the first piece
	oldest   *partial
	newest   *partial
	spare    *partial // to be used again
	done     *partial // whose frame the caller has
	// incomplete frames were given up.
	Incomplete uint64
}

// partial is a frame some of whose pieces are there.
type partial struct {
	first        uint64
	since        time.Duration
	frame        []byte
	piece        int // length of all pieces but the last, 0 until one is there
	count        int // of pieces, 0 until the last one is there
	tail         int // length of the last piece
	have         int
	seen         [maxPieces / 64]uint64
	older, newer *partial
}

// NewReassembler returns a reassembler that holds incomplete frames up to that many
// bytes and up to that age.
func NewReassembler(maxBytes int, maxAge time.Duration) *Reassembler {
	return &Reassembler{maxBytes: maxBytes, maxAge: maxAge, open: map[uint64]*partial{}}
}

// Add takes the payload of a packet of type TypeFragment with that sequence
// number. It returns the frame that is complete with it, or nil. The frame is
// valid until the next call. A piece that contradicts what is there already,
// or itself, is ignored; so is one that came before.
func (r *Reassembler) Add(now time.Duration, sequence uint64, payload []byte) []byte {
	r.Expire(now)
	r.recycle()
	if len(payload) <= pieceHeaderSize {
		return nil
	}
	last, index := payload[0]&lastPiece != 0, int(payload[0]&^lastPiece)
	total := int(binary.BigEndian.Uint16(payload[1:]))
	part := payload[pieceHeaderSize:]
	if sequence < uint64(index) || total > MaxFrame || len(part) > total ||
		(!last && (index+1)*len(part) >= total) || (last && index > total-len(part)) {
		return nil
	}
	first := sequence - uint64(index)
	p := r.open[first]
	if p == nil {
		if p = r.begin(now, first, total); p == nil {
			return nil
		}
	}
	if len(p.frame) != total || !p.fits(index, len(part), last) {
		return nil
	}
	at := index * len(part)
	if last {
		at = total - len(part)
	}
	copy(p.frame[at:], part)
	if p.have != p.count {
		return nil
	}
	r.unlink(p)
	r.done = p
	return p.frame
}

// fits notes a piece, unless it contradicts the others or is there already.
func (p *partial) fits(index, length int, last bool) bool {
	if p.seen[index/64]&(1<<(index%64)) != 0 {
		return false
	}
	piece := p.piece
	count := p.count
	tail := p.tail
	if last {
		count, tail = index+1, length
	} else {
		piece = length
	}
	switch {
	case last && p.count != 0, !last && p.piece != 0 && p.piece != length, count != 0 && index >= count:
		return false
	case piece != 0 && count != 0 && (count-1)*piece+tail != len(p.frame):
		return false
	case count == 1 && tail != len(p.frame):
		return false
	}
	if last && p.have > 0 && p.beyond(index) {
		return false
	}
	p.piece = piece
	p.count = count
	p.tail = tail
	p.seen[index/64] |= 1 << (index % 64)
	p.have++
	return true
}

// beyond reports whether a piece with a greater index is there.
func (p *partial) beyond(index int) bool {
	for i := index + 1; i < maxPieces; i++ {
		if p.seen[i/64]&(1<<(i%64)) != 0 {
			return true
		}
	}
	return false
}

// begin makes room for a frame. It returns nil where there can be none.
func (r *Reassembler) begin(now time.Duration, first uint64, total int) *partial {
	if total > r.maxBytes {
		return nil
	}
	p := r.spare
	if p != nil {
		r.spare = nil
	} else {
		p = &partial{}
	}
	buffer := p.frame
	if cap(buffer) < total {
		buffer = make([]byte, max(total, 2048))
	}
	*p = partial{first: first, since: now, frame: buffer[:total], older: r.newest}
	if r.newest != nil {
		r.newest.newer = p
	} else {
		r.oldest = p
	}
	r.newest = p
	r.open[first] = p
	r.Bytes += cap(p.frame)
	for r.Bytes > r.maxBytes && r.oldest != p {
		r.discard(r.oldest)
	}
	return p
}

// Expire gives up what has waited for too long.
func (r *Reassembler) Expire(now time.Duration) {
	for r.oldest != nil && now-r.oldest.since >= r.maxAge {
		r.discard(r.oldest)
	}
}

// Next returns when something is due to be dropped. It reports false where nothing
// waits.
func (r *Reassembler) Next() (time.Duration, bool) {
	if r.oldest == nil {
		return 0, false
	}
	return r.oldest.since + r.maxAge, true
}

// Reset discards everything that waits, after a restart of the peer.
func (r *Reassembler) Reset() {
	for r.oldest != nil {
		r.discard(r.oldest)
	}
}

func (r *Reassembler) discard(p *partial) {
	r.Incomplete++
	r.unlink(p)
	r.keep(p)
}

// forget takes a frame from those that wait.
func (r *Reassembler) unlink(p *partial) {
	delete(r.open, p.first)
	r.Bytes -= cap(p.frame)
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		r.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		r.newest = p.older
	}
	p.older, p.newer = nil, nil
}

// recycle takes back what the caller had of the last call.
func (r *Reassembler) recycle() {
	if r.done != nil {
		r.keep(r.done)
		r.done = nil
	}
}

// keep has a frame's memory used again. One is enough in the long run; the
// others were a burst's.
func (r *Reassembler) keep(p *partial) {
	if r.spare == nil {
		r.spare = p
	}
}
