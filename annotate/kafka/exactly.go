package kafka

import (
	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// steps is how many messages of each partition a transaction deals with, from
// the oldest on.
type steps map[*claim]int

// reached returns the offsets up to which everything is dealt with when the
// batch is committed, and as which member of the group: the cluster refuses
// them from one that was replaced. Without any the member is nil. It fails
// when an input of the batch was taken back.
func (s *subscription) reached(
	batch []*publication) (map[string][]*sarama.PartitionOffsetMetadata, *sarama.ConsumerGroupMetadata, steps, error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range batch {
		if m.origin != nil && m.origin.claim.gone.Load() {
			return nil, nil, nil, annotate.ErrRevoked
		}
	}
	if s.current == nil {
		return nil, nil, nil, nil
	}
	done := steps{}
	var offsets []*sarama.PartitionOffsetMetadata
	for _, c := range s.current.claims {
		if n := c.prefix(embarked); n > 0 {
			done[c] = n
			offsets = append(offsets, &sarama.PartitionOffsetMetadata{
				Partition: c.partition,
				Offset:    c.handed[n-1].offset + 1,
				Metadata:  &s.current.metadata,
			})
		}
	}
	if len(offsets) == 0 {
		return nil, nil, nil, nil
	}
	member := sarama.NewConsumerGroupMetadataFromSession(s.current.member, s.group, nil)
	return map[string][]*sarama.PartitionOffsetMetadata{s.topic: offsets}, member, done, nil
}

// advance notes that a transaction was committed.
func (s *subscription) advance(done steps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, n := range done {
		if !c.gone.Load() {
			c.advance(n)
			notify.Send(c.settled)
		}
	}
}

// disembark makes an input wait for its acknowledgement again.
func (s *subscription) disembark(m *inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m != nil && m.state == embarked {
		m.state = waiting
	}
}

// hasDealtWith reports whether there are acknowledgements that no transaction
// has taken along.
func (s *subscription) hasDealtWith() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false
	}
	for _, c := range s.current.claims {
		if len(c.handed) > 0 && c.handed[0].state == dealtWith {
			return true
		}
	}
	return false
}

// startOver joins the group again, to read from the committed offsets on.
func (s *subscription) startOver() {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil {
		s.lose(current, nil)
	}
}
