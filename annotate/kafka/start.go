package kafka

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/IBM/sarama"
)

// beganWith starts the metadata of our offsets: the number of partitions that
// the topic had when the group began to read it.
const beganWith = "partitions="

// settle returns where each partition starts. For those of which the group has
// no offset it decides, and commits the decision before anything is read:
// otherwise a crash before the first acknowledgement would have "latest" skip
// what came meanwhile.
func (s *session) settle(partitions []int32) (map[int32]int64, error) {
	offsets, err := s.sub.cluster.offsets()
	if err != nil {
		return nil, err
	}
	known := offsets.count()
	if len(offsets.metadata) == 0 {
		known = len(offsets.all)
	}
	s.metadata = beganWith + strconv.Itoa(known)
	missing := 0
	for _, partition := range partitions {
		if offsets.all[partition] >= 0 {
			continue
		}
		missing++
		start := sarama.OffsetOldest
		if s.sub.settings.OffsetReset != Earliest && int(partition) < known {
			start = sarama.OffsetNewest
		}
		at, err := s.sub.client.GetOffset(s.sub.topic, partition, start)
		if err != nil {
			return nil, fmt.Errorf("find the start of partition %d: %w", partition, err)
		}
		s.member.MarkOffset(s.sub.topic, partition, at, s.metadata)
	}
	if missing == 0 {
		return offsets.all, nil
	}
	s.member.Commit()
	if offsets, err = s.sub.cluster.offsets(); err != nil {
		return nil, err
	}
	for _, partition := range partitions {
		if offsets.all[partition] < 0 {
			return nil, fmt.Errorf("commit the start of partition %d: not confirmed", partition)
		}
	}
	return offsets.all, nil
}

// groupOffsets is what a group has committed of a topic: an offset for each
// partition, negative where there is none, and the metadata of the others.
type groupOffsets struct {
	all      map[int32]int64
	metadata []string
}

// count returns how many partitions there were when the group began. Where the
// offsets were written by another program that is not known, and it returns 0:
// every partition without an offset counts as one that was added later, and is
// read from its beginning.
func (o groupOffsets) count() int {
	least := 0
	for _, m := range o.metadata {
		text, ours := strings.CutPrefix(m, beganWith)
		if n, err := strconv.Atoi(text); ours && err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
