package annotate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/iotenablers/enablers/annotate/rml"
)

// identify returns the identity of what results from a message, for an output that needs one:
// 32 hexadecimal digits of a SHA-256 over the identifier of the channel, the topic and the
// position of the message, and its payload. A broker that has no positions (MQTT) cannot tell
// a redelivered message from an equal one that was sent later, so these have one identity.
// With positions the payload counts too, since a topic that is created again begins again.
func (e *Environment) identify(c *ChannelConfig, m *Message) string {
	if d := e.driver(c.Output.Broker); d == nil || !d.OutputOnly {
		return ""
	}
	hash := sha256.New()
	var number [8]byte
	write := func(n uint64) { _, _ = hash.Write(binary.BigEndian.AppendUint64(number[:0], n)) }
	for _, text := range []string{c.ID, m.Topic} {
		write(uint64(len(text)))
		_, _ = hash.Write([]byte(text)) // a hash returns no error
	}
	write(uint64(m.Position.Partition))
	write(uint64(m.Position.Offset))
	_, _ = hash.Write(m.Payload)
	var sum [sha256.Size]byte
	return hex.EncodeToString(hash.Sum(sum[:0])[:16])
}

// compile prepares a mapping for the messages of a channel with the output.
func (e *Environment) compile(m Mapping, dialect string, output *Topic) (*compiledMapping, error) {
	if _, err := m.OutputFormat.rdf(); err != nil {
		return nil, err
	}
	if d := e.driver(output.Broker); d != nil && d.Format != "" {
		m.OutputFormat = d.Format
	}
	return m.compile(dialect, rml.Limits{MaxBytes: e.MaxMessageBytes}, e.Functions)
}
