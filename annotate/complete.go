package annotate

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Defaults fill in what a channel leaves open. A zero field means the value
// that its comment names. The defaults of connections are those of the drivers.
type Defaults struct {
	// Parallelism is the number of mappers of a channel; zero means 2.
	Parallelism int
	// BufferSize is the number of messages waiting for each mapper; zero
	// means 10.
	BufferSize int
}

// filled returns the defaults with nothing left zero.
func (d Defaults) filled() Defaults {
	return Defaults{Parallelism: cmp.Or(d.Parallelism, 2), BufferSize: cmp.Or(d.BufferSize, 10)}
}

// maxChannelID is the greatest length of a channel identifier in bytes. It
// leaves room for a prefix in a storage key.
const maxChannelID = 480

// Complete returns a copy of a configuration with what it leaves open filled in, as
// [NewChannel] does it. Completing the copy changes nothing.
func (e Environment) Complete(c ChannelConfig) ChannelConfig {
	e.Defaults = e.Defaults.filled()
	return e.complete(c)
}

// complete returns a copy of the configuration with every optional value
// filled in: identifier, connections, sizes. Values that are there stay, so
// that completing it again changes nothing.
func (e *Environment) complete(c ChannelConfig) ChannelConfig {
	c = c.Clone()
	if c.ID == "" {
		c.ID = newChannelID(&c)
	}
	c.Parallelism = cmp.Or(c.Parallelism, e.Defaults.Parallelism)
	c.BufferSize = cmp.Or(c.BufferSize, e.Defaults.BufferSize)
	for _, topic := range c.Topics() {
		if d := e.driver(topic.Broker); d != nil {
			topic.Settings = d.Settings.Complete(topic.Settings, topic.Role, c.ID)
		}
	}
	return c
}

// newChannelID creates an identifier from the topics, the kinds of broker and a
// random part, by which identifiers differ whatever the topics. It consists of
// the characters that a URL holds as they are (RFC 3986 section 2.3), so that
// GET /channels/<identifier> needs no escapes. The original service used the
// topics with their slashes; stored channels keep such identifiers.
func newChannelID(c *ChannelConfig) string {
	return fmt.Sprintf("%s_%s_%s_%s_%s",
		idPart(c.Input.Name), idPart(c.Output.Name), c.Input.Broker, c.Output.Broker, uuid.NewString())
}

// idPart is what a topic contributes to an identifier: a hyphen for characters
// that a URL would escape, no white space, and at most 200 bytes, so that the
// identifier can be stored.
func idPart(topic string) string {
	const most = 200
	var part strings.Builder
	hyphen := false // whether the last character is a hyphen that stands for others
	for _, r := range withoutSpace(topic) {
		unreserved := r < utf8.RuneSelf && (r == '-' || r == '.' || r == '_' || r == '~' ||
			(r >= '0' && r <= '9') || (r >= 'A' && r <= 'Z') || (r >= 'a' && r <= 'z'))
		switch {
		case unreserved:
			part.WriteRune(r)
		case !hyphen:
			part.WriteByte('-')
		}
		hyphen = !unreserved
		if part.Len() == most {
			break
		}
	}
	return part.String()
}

// withoutSpace removes white space, which channel identifiers never have.
func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }
