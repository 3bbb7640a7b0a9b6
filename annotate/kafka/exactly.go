package kafka

import (
	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// steps is the number of messages of each partition that a transaction finishes, from the
// oldest on.
type steps map[*partition]int

// reached returns the offsets that the group has reached when the batch is committed, and
// the member of the group: the cluster refuses offsets of a member that was replaced.
// The member is nil if there are no offsets. reached fails if an input of the batch was
// revoked.
func (s *subscription) reached(
	batch []*publication) (map[string][]*sarama.PartitionOffsetMetadata, *sarama.ConsumerGroupMetadata, steps, error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range batch {
		if m.origin != nil && m.origin.partition.gone.Load() {
			return nil, nil, nil, annotate.ErrRevoked
		}
	}
	if s.current == nil {
		return nil, nil, nil, nil
	}
	done := steps{}
	var offsets []*sarama.PartitionOffsetMetadata
	for _, p := range s.current.partitions {
		if n := p.prefixLocked(embarked); n > 0 {
			done[p] = n
			offsets = append(offsets, &sarama.PartitionOffsetMetadata{
				Partition: p.number,
				Offset:    p.handed[n-1].offset + 1,
				Metadata:  &s.current.metadata,
			})
		}
	}
	if len(offsets) == 0 {
		return nil, nil, nil, nil
	}
	member := sarama.NewConsumerGroupMetadataFromSession(s.current.member, s.group, s.place.instance())
	return map[string][]*sarama.PartitionOffsetMetadata{s.topic: offsets}, member, done, nil
}

// advance records that a transaction was committed.
func (s *subscription) advance(done steps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range done {
		if !p.gone.Load() {
			p.advanceLocked(n)
			notify.Send(p.settled)
		}
	}
}

// disembark returns an input to the state in which it waits for its acknowledgement.
func (s *subscription) disembark(m *inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m != nil && m.state == embarked {
		m.state = waiting
	}
}

// hasDealtWith reports whether there are acknowledgements that no transaction has
// committed.
func (s *subscription) hasDealtWith() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false
	}
	for _, p := range s.current.partitions {
		if len(p.handed) > 0 && p.handed[0].state == dealtWith {
			return true
		}
	}
	return false
}

// startOver joins the group again, to read on from the committed offsets.
func (s *subscription) startOver() {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil {
		s.lose(current, nil)
	}
}
