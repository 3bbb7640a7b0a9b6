package kafka

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"

	"github.com/xdg-go/scram"
)

// scramClient is one SCRAM conversation (RFC 5802) in the shape that sarama
// asks for.
type scramClient struct {
	hash         scram.HashGeneratorFcn
	conversation *scram.ClientConversation
}

// scramHash returns the hash function of a SCRAM mechanism, nil for others.
func scramHash(mechanism string) scram.HashGeneratorFcn {
	switch mechanism {
	case ScramSHA256:
		return sha256.New
	case ScramSHA512:
		return sha512.New
	}
	return nil
}

// Begin implements sarama.SCRAMClient.
func (c *scramClient) Begin(user, password, authorization string) error {
	client, err := c.hash.NewClient(user, password, authorization)
	if err != nil {
		// The library's text may quote what it cannot prepare (RFC 4013).
		return fmt.Errorf("the user name or the password cannot be used with SCRAM")
	}
	c.conversation = client.NewConversation()
	return nil
}

// Step implements sarama.SCRAMClient.
func (c *scramClient) Step(challenge string) (string, error) { return c.conversation.Step(challenge) }

// Done implements sarama.SCRAMClient.
func (c *scramClient) Done() bool { return c.conversation.Done() }
