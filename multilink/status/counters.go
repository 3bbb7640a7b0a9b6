package status

// Counters are the counts of a bond since it was created. The tags metric and help describe
// them for Prometheus.
type Counters struct {
	TxFrames uint64 `json:"tx_frames" metric:"sent_frames_total" help:"Frames that were taken to be sent."`
	RxFrames uint64 `json:"rx_frames" metric:"received_frames_total" help:"Frames that were delivered."`
	TxBytes  uint64 `json:"tx_bytes" metric:"sent_bytes_total" help:"Bytes of frames that were taken to be sent."`
	RxBytes  uint64 `json:"rx_bytes" metric:"received_bytes_total" help:"Bytes of frames that were delivered."`

	Failovers uint64 `json:"failovers" metric:"failovers_total" help:"How many times another link took over."`
	Returns   uint64 `json:"returns" metric:"returns_total" help:"How many of these were to a better link that was back."`

	Replayed   uint64 `json:"replayed" metric:"replayed_frames_total" help:"Frames that were sent again after a failover."`
	Duplicates uint64 `json:"duplicates" metric:"duplicate_frames_total" help:"Frames that had arrived before."`
	Evicted    uint64 `json:"evicted" metric:"evicted_frames_total" help:"Frames that were forgotten unacknowledged."`
	Expired    uint64 `json:"expired" metric:"expired_frames_total" help:"Frames that came too late to be checked for duplicates."`
	Dropped    uint64 `json:"dropped" metric:"dropped_frames_total" help:"Frames that found no link or no room."`

	// Fragmented frames were sent in pieces, Reassembled ones received so.
	Fragmented  uint64 `json:"fragmented"`
	Reassembled uint64 `json:"reassembled"`
	Incomplete  uint64 `json:"incomplete" metric:"incomplete_frames_total" help:"Frames of which a piece was lost."`
	// Refused includes frames that claim an address of another peer or of this host.
	Refused uint64 `json:"refused" metric:"refused_frames_total" help:"Frames from an Ethernet address of another peer or of this host."`
}
