package session

import (
	"encoding/binary"

	"github.com/iotenablers/enablers/annotate"
)

// The packets that are sent for every message are encoded here, without an allocation for
// each. Their first bytes (MQTT 5 section 2.1.2):
const (
	publishQoS1   = 3<<4 | 1<<1
	publishDup    = 1 << 3
	publishRetain = 1
	puback        = 4 << 4
	pingreq       = 12 << 4
)

// maxPacketSize is the size of the largest packet there can be: four digits to
// the base of 128 for the length of what follows (MQTT 5 section 1.5.5).
const maxPacketSize = 5 + 1<<28 - 1

// appendPublish appends a PUBLISH packet with QoS 1 (MQTT 5 section 3.3, MQTT
// 3.1.1 section 3.3). dup is for a message that was sent before. The topic has
// at most 65,535 bytes.
func appendPublish(b []byte, m *annotate.Message, id uint16, dup, properties bool) []byte {
	first := byte(publishQoS1)
	if dup {
		first |= publishDup
	}
	b = append(b, first)
	b = binary.AppendUvarint(b, uint64(remaining(m, properties)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Topic)))
	b = append(b, m.Topic...)
	b = binary.BigEndian.AppendUint16(b, id)
	if properties {
		b = binary.AppendUvarint(b, uint64(traceSize(m.Trace)))
		b = appendTrace(b, m.Trace)
	}
	return append(b, m.Payload...)
}

// packetSize is the size in bytes of the PUBLISH packet.
func packetSize(m *annotate.Message, properties bool) int {
	rest := remaining(m, properties)
	size := 1 + rest
	for {
		size++
		if rest >>= 7; rest == 0 {
			return size
		}
	}
}

// remaining is the size of what follows the fixed header.
func remaining(m *annotate.Message, properties bool) int {
	size := 2 + len(m.Topic) + 2 + len(m.Payload)
	if properties {
		trace := traceSize(m.Trace)
		size += 1 + trace
		for ; trace >= 0x80; trace >>= 7 {
			size++
		}
	}
	return size
}

// appendPuback appends a PUBACK packet of success, which is the same in both
// versions (MQTT 5 section 3.4.2.1).
func appendPuback(b []byte, id uint16) []byte {
	return append(b, puback, 2, byte(id>>8), byte(id))
}
