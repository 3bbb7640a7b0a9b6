package kafka

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/internal/notify"
)

// staticName returns the name of a static member of a group (KIP-345) for a subscription to a
// topic. Kafka allows few characters and 249 bytes, so it is a digest.
func staticName(topic, member string) string {
	if member == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(topic + "\x00" + member))
	return "annotator-" + hex.EncodeToString(sum[:16])
}

// fence ends a static member whose place another one has taken. It does not join again, which
// would take the place back.
func (s *subscription) fence(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fenced = fmt.Errorf("another process continues the subscription of topic %q in group %q: %w", s.topic, s.group, err)
	notify.Send(s.arrived)
}

// leave takes a static member out of its group, which the client leaves to the session timeout:
// the partitions are free for other members at once. It does nothing where another one has
// taken the place.
func (s *subscription) leave() {
	s.mu.Lock()
	member := s.member
	if s.fenced != nil {
		member = ""
	}
	s.mu.Unlock()
	if s.static == "" || member == "" {
		return
	}
	if err := s.cluster.leave(member); err != nil {
		s.broker.log.Debug("leave of the group failed", "topic", s.topic, "group", s.group, "error", err)
	}
}

// leave removes a static member from the group, if it still has its place there.
func (c coordinator) leave(member string) error {
	broker, err := c.client.Coordinator(c.group)
	if err != nil {
		return err
	}
	response, err := broker.LeaveGroup(&sarama.LeaveGroupRequest{
		Version: 4, GroupId: c.group, Members: []sarama.MemberIdentity{{MemberId: member, GroupInstanceId: &c.static}},
	})
	if err == nil && response.Err != sarama.ErrNoError {
		err = response.Err
	}
	return err
}
