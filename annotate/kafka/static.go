package kafka

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/IBM/sarama"
)

// place is that of a static member in its group (KIP-345).
type place struct {
	name string // empty for a member that is not static

	mu     sync.Mutex
	member string // the id that the cluster gave the member last
	lost   error  // another one has taken the place
}

// newPlace returns the place of a subscription to a topic. Kafka allows names few characters
// and 249 bytes, so the name is a digest.
func newPlace(topic, member string) *place {
	if member == "" {
		return &place{}
	}
	sum := sha256.Sum256([]byte(topic + "\x00" + member))
	return &place{name: "annotator-" + hex.EncodeToString(sum[:16])}
}

// instance returns the name in the form of requests: nil for a member that is not static.
func (p *place) instance() *string {
	if p.name == "" {
		return nil
	}
	return &p.name
}

// take records the id of the member.
func (p *place) take(member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member = member
}

// lose records that another member has taken the place. The subscription does not join again,
// which would take the place back.
func (p *place) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = err
}

// taken returns why the place is lost; nil while it is not.
func (p *place) taken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// leave takes a static member out of its group, which the client leaves to the session timeout:
// the partitions are free for other members at once. It does nothing where another one has
// taken the place.
func (p *place) leave(c coordinator) error {
	p.mu.Lock()
	member := p.member
	if p.name == "" || p.lost != nil {
		member = ""
	}
	p.mu.Unlock()
	if member == "" {
		return nil
	}
	broker, err := c.client.Coordinator(c.group)
	if err != nil {
		return err
	}
	response, err := broker.LeaveGroup(&sarama.LeaveGroupRequest{
		Version: 4, GroupId: c.group, Members: []sarama.MemberIdentity{{MemberId: member, GroupInstanceId: &p.name}},
	})
	if err != nil {
		return err
	}
	errs := []error{refusal(response.Err)}
	for _, left := range response.Members {
		errs = append(errs, refusal(left.Err))
	}
	return errors.Join(errs...)
}

// refusal returns the error of an answer; nil when it has none.
func refusal(err sarama.KError) error {
	if err == sarama.ErrNoError {
		return nil
	}
	return err
}
