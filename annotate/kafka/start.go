package kafka

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/IBM/sarama"
)

// beganWith is the prefix of the metadata of the offsets that are committed here. The number
// of partitions follows that the topic had when the group began to read it.
const beganWith = "partitions="

// settle returns the start offset of each partition. Where the group has no offset, settle
// chooses one and commits it before anything is read. Otherwise, with "latest", a crash
// before the first acknowledgement would skip the messages that arrived in between.
func (g *generation) settle(partitions []int32) (map[int32]int64, error) {
	offsets, err := g.sub.cluster.offsets()
	if err != nil {
		return nil, err
	}
	known := offsets.count()
	if len(offsets.metadata) == 0 {
		known = len(offsets.all)
	}
	g.metadata = beganWith + strconv.Itoa(known)
	missing := 0
	for _, partition := range partitions {
		if offsets.all[partition] >= 0 {
			continue
		}
		missing++
		start := sarama.OffsetOldest
		if g.sub.settings.OffsetReset != Earliest && int(partition) < known {
			start = sarama.OffsetNewest
		}
		at, err := g.sub.client.GetOffset(g.sub.topic, partition, start)
		if err != nil {
			return nil, fmt.Errorf("find the start of partition %d: %w", partition, err)
		}
		g.member.MarkOffset(g.sub.topic, partition, at, g.metadata)
	}
	if missing == 0 {
		return offsets.all, nil
	}
	g.member.Commit()
	if offsets, err = g.sub.cluster.offsets(); err != nil {
		return nil, err
	}
	for _, partition := range partitions {
		if offsets.all[partition] < 0 {
			return nil, fmt.Errorf("commit the start of partition %d: not confirmed", partition)
		}
	}
	return offsets.all, nil
}

// groupOffsets are the committed offsets of a group in a topic: one for each partition,
// negative where the group has none, and the metadata of the others.
type groupOffsets struct {
	all      map[int32]int64
	metadata []string
}

// count returns the number of partitions when the group began to read. It is not known if
// another program committed the offsets. count then returns 0: every partition without an
// offset counts as added later, and is read from its beginning.
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
