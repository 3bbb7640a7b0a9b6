package kafkatest

import (
	"sync/atomic"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nonMember is a member that no group has.
const nonMember = "non-member"

// Still runs change while the cluster processes no request of a consumer group. It answers
// the heartbeats of the group's members, and refuses their other requests with an error
// that makes them try again. root is a client with all rights. The embedded cluster reads
// the access rules of a group without a lock, so they must not change while it processes
// the group's requests.
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
	// The group answers requests in order: this one after all that came before.
	last := kmsg.NewPtrHeartbeatRequest()
	last.Group, last.MemberID = group, nonMember
	response, err := last.RequestWith(c.context(), root)
	require.NoError(c.tb, err)
	require.NotZero(c.tb, response.ErrorCode)
	change()
}

// putOff returns the answer to a member's request while the group is still, or nil for
// other requests.
func putOff(request kmsg.Request) kmsg.Response {
	later := kerr.CoordinatorLoadInProgress.Code
	switch answer := request.ResponseKind().(type) {
	case *kmsg.HeartbeatResponse:
		if request.(*kmsg.HeartbeatRequest).MemberID == nonMember {
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
