package session

import (
	"encoding/binary"
	"io"
)

// take decodes the most frequent packets in their usual form: a PUBLISH with QoS 1 and
// without properties other than those of the user, and a PUBACK of success. This costs a
// small part of what the libraries need. Of every other packet it consumes nothing and
// reports false, and the libraries decode it.
//
// The packet has size bytes, of which the first header ones are in the buffer.
func (c *Connection) take(first byte, header, size int) (bool, error) {
	switch {
	case first == puback && header == 2 && size >= 4 && size <= 6:
		return c.takePuback(size)
	case first&^(publishDup|publishRetain) == publishQoS1:
		return c.takePublish(header, size)
	}
	return false, nil
}

// takePuback decodes a PUBACK (MQTT 5 section 3.4, MQTT 3.1.1 section 3.4): an
// identifier, and in MQTT 5 a reason code and properties, if necessary.
func (c *Connection) takePuback(size int) (bool, error) {
	packet, err := c.Wire.reader.Peek(size)
	if err != nil {
		return false, err
	}
	if (size > 4 && (!c.properties || packet[4] >= 0x80)) || (size > 5 && packet[5] != 0) {
		return false, nil
	}
	id := binary.BigEndian.Uint16(packet[2:])
	c.Wire.discard(size)
	c.Confirmed(id, nil)
	return true, nil
}

// takePublish decodes a PUBLISH with QoS 1 (MQTT 5 section 3.3, MQTT 3.1.1
// section 3.3).
func (c *Connection) takePublish(header, size int) (bool, error) {
	reader := c.Wire.reader
	start := header + 2 // of the topic
	if start > size {
		return false, nil
	}
	head, err := reader.Peek(start)
	if err != nil {
		return false, err
	}
	end := start + int(binary.BigEndian.Uint16(head[header:]))
	body := end + 2
	if c.properties {
		body++
	}
	if end == start || body > size || body > reader.Size() {
		return false, nil
	}
	if head, err = reader.Peek(body); err != nil {
		return false, err
	}
	var user UserProperties
	if c.properties && head[body-1] != 0 {
		first, length := body, int(head[body-1])
		if length >= 0x80 { // two digits to the base of 128; more would not fit into the buffer
			if first++; first > size || first > reader.Size() {
				return false, nil
			}
			if head, err = reader.Peek(first); err != nil {
				return false, err
			}
			high := int(head[first-1])
			if high == 0 || high >= 0x80 {
				return false, nil
			}
			length += (high - 1) << 7
		}
		if body = first + length; body > size || body > reader.Size() {
			return false, nil
		}
		if head, err = reader.Peek(body); err != nil {
			return false, err
		}
		if !user.read(head[first:body]) {
			return false, nil
		}
	}
	trace := user.Trace()                   // before the buffer is used again
	if string(head[start:end]) != c.topic { // most messages have the topic of the one before
		c.topic = string(head[start:end])
	}
	id := binary.BigEndian.Uint16(head[end:])
	c.Wire.discard(body)
	payload := make([]byte, size-body)
	if _, err := io.ReadFull(reader, payload); err != nil {
		return false, err
	}
	c.Wire.touch()
	c.Received(c.topic, payload, id, 1, trace)
	return true, nil
}
