package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// The group waits for a dead member until the member's session times out. A successor has
// less time to open, and must not give up: the group would then wait for the successor too.
func TestBroker_Subscribe_opensWhileTheGroupWaitsForADeadMember(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 2, 0)
	settings := cluster.Settings("topic", "group")
	fill(t, cluster, "topic", 0, 10)
	// A static member does not leave the group when it ends. In this test its
	// session does not time out, so the test removes it.
	const session = 5 * time.Minute
	dead, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()), kgo.ConsumerGroup("group"), kgo.ConsumeTopics("topic"),
		kgo.InstanceID("dead"), kgo.SessionTimeout(session), kgo.HeartbeatInterval(session/4), kgo.RebalanceTimeout(session),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
	require.NoError(t, err)
	require.NoError(t, dead.PollFetches(t.Context()).Err())
	dead.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sub, err := kafka.New(nil).Subscribe(ctx, settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close(context.Background()) })
	require.ErrorIs(t, sub.Health(), annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, sub.Health(), "waits for a member")

	remove(t, cluster, "group", "dead")
	patient, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	w := newWitness(t)
	for w.count() < 10 {
		d, err := sub.Receive(patient)
		require.NoError(t, err)
		w.note(d)
		d.Ack()
	}
	require.NoError(t, sub.Health())
}

// remove takes a member with a name of its own out of its group, as the end of
// its session would.
func remove(t *testing.T, cluster *kafkatest.Cluster, group, instance string) {
	t.Helper()
	member := kmsg.NewLeaveGroupRequestMember()
	member.InstanceID = &instance
	leave(t, cluster, group, member)
}

// removeAll takes all members out of a group, as the end of their sessions would.
func removeAll(t *testing.T, cluster *kafkatest.Cluster, group string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()))
	require.NoError(t, err)
	defer client.Close()
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = append(request.Groups, group)
	response, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(response.Groups[0].ErrorCode))
	require.NotEmpty(t, response.Groups[0].Members)
	for _, m := range response.Groups[0].Members {
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = m.MemberID
		leave(t, cluster, group, member)
	}
}

func leave(t *testing.T, cluster *kafkatest.Cluster, group string, member kmsg.LeaveGroupRequestMember) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()))
	require.NoError(t, err)
	defer client.Close()
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group, request.Members = group, append(request.Members, member)
	response, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(response.ErrorCode))
	require.NoError(t, kerr.ErrorForCode(response.Members[0].ErrorCode))
}
