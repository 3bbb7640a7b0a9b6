package status

// Counters of a bond since it was made.
type Counters struct {
	TxFrames, RxFrames, TxBytes, RxBytes uint64
	// Failovers to another link, and returns among them.
	Failovers, Returns uint64
	// Replayed frames were sent again; Duplicates were received again and
	// dropped; Evicted left the replay buffer unacknowledged; Expired came too
	// late to be checked for duplicates; Dropped found no link or no room.
	Replayed, Duplicates, Evicted, Expired, Dropped uint64
	// Fragmented frames were sent in pieces, Reassembled ones received so;
	// Incomplete ones lost a piece.
	Fragmented, Reassembled, Incomplete uint64
	// Refused frames came from an Ethernet address of another peer or of this host, or
	// claimed an address of it.
	Refused uint64
}
