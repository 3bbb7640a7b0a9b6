package kafkatest

import (
	"sync/atomic"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nobody is a member that no group has.
const nobody = "nobody"

// Still runs change while a consumer group is still: its members are told that
// they are well, and to come back later with everything else. The client is of
// somebody who may do anything. The embedded cluster looks at its access rules
// for a group without a lock, so that they must not be changed while a group is
// at work.
func (c *Cluster) Still(group string, root *kgo.Client, change func()) {
	c.tb.Helper()
	var over atomic.Bool
	defer over.Store(true)
	for _, key := range []kmsg.Key{
		kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.Heartbeat, kmsg.SyncGroup, kmsg.TxnOffsetCommit,
	} {
		c.ControlKey(int16(key), func(request kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if over.Load() {
				return nil, nil, false
			}
			answer := putOff(request)
			return answer, nil, answer != nil
		})
	}
	// Its refusal comes after everything that the group was asked before.
	last := kmsg.NewPtrHeartbeatRequest()
	last.Group, last.MemberID = group, nobody
	response, err := last.RequestWith(c.context(), root)
	require.NoError(c.tb, err)
	require.NotZero(c.tb, response.ErrorCode)
	change()
}

// putOff answers a request of a member without the group, nil if it is none.
func putOff(request kmsg.Request) kmsg.Response {
	later := kerr.CoordinatorLoadInProgress.Code
	switch answer := request.ResponseKind().(type) {
	case *kmsg.HeartbeatResponse:
		if request.(*kmsg.HeartbeatRequest).MemberID == nobody {
			return nil
		}
		return answer
	case *kmsg.JoinGroupResponse:
		answer.ErrorCode = later
		return answer
	case *kmsg.SyncGroupResponse:
		answer.ErrorCode = later
		return answer
	case *kmsg.OffsetFetchResponse:
		answer.ErrorCode = later
		return answer
	case *kmsg.OffsetCommitResponse:
		for _, from := range request.(*kmsg.OffsetCommitRequest).Topics {
			to := kmsg.OffsetCommitResponseTopic{Topic: from.Topic}
			for _, p := range from.Partitions {
				to.Partitions = append(to.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: later})
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer
	case *kmsg.TxnOffsetCommitResponse:
		for _, from := range request.(*kmsg.TxnOffsetCommitRequest).Topics {
			to := kmsg.TxnOffsetCommitResponseTopic{Topic: from.Topic}
			for _, p := range from.Partitions {
				to.Partitions = append(to.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: later})
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer
	}
	return nil
}
