package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// The number of messages of each combination: that of the acceptance, and a
// small one for -short.
const (
	fullCount  = 100_000
	shortCount = 20_000
)

// patience bounds each wait. The broker notices a killed consumer after 15 s.
const patience = 3 * time.Minute

// cutFor is how long a cable is cut.
const cutFor = 2 * time.Second

func TestAnnotator_MQTTToMQTT_losesNothingThroughAllFaults(t *testing.T) {
	t.Parallel()
	broker := startMQTT(t)
	throughAllFaults(t, combination{in: broker, out: broker})
}

func TestAnnotator_MQTTToKafka_losesNothingThroughAllFaults(t *testing.T) {
	t.Parallel()
	throughAllFaults(t, combination{in: startMQTT(t), out: startKafka(t)})
}

func TestAnnotator_KafkaToMQTT_losesNothingThroughAllFaults(t *testing.T) {
	t.Parallel()
	throughAllFaults(t, combination{in: startKafka(t), out: startMQTT(t)})
}

func TestAnnotator_KafkaToKafka_losesNothingThroughAllFaults(t *testing.T) {
	t.Parallel()
	broker := startKafka(t)
	throughAllFaults(t, combination{in: broker, out: broker})
}

func TestAnnotator_KafkaToKafka_isExactlyOnceThroughAllFaults(t *testing.T) {
	t.Parallel()
	broker := startKafka(t)
	throughAllFaults(t, combination{in: broker, out: broker, exactly: true})
}

// A topic of MQTT that two annotators share out among them loses nothing when
// one joins, the other is killed and started again, and the first is stopped and started
// again. How much is out of order is printed.
func TestAnnotator_distributed_sharesAnMQTTTopicBetweenTwo(t *testing.T) {
	t.Parallel()
	broker := startMQTT(t)
	throughAllFaults(t, combination{in: broker, out: broker, spread: true})
}

// fault is something that happens to a channel under load.
type fault struct {
	name string
	do   func()
	// gradual means that do lets the load go on itself, from half of its share
	// on, because it may be over too soon.
	gradual bool
}

// faults are those that can happen to the combination, in their order. The first one must
// leave every connection alone, because it counts exactly.
func (r *rig) faults() []fault {
	rebalance := fault{name: "rebalance", do: r.rebalance, gradual: true}
	if r.spread {
		return []fault{rebalance}
	}
	all := []fault{
		{name: "error topic off and on", do: r.toggleErrors, gradual: true},
		{name: "kill -9 of the annotator", do: r.killAnnotator},
		{name: "SIGTERM and start", do: r.stopAnnotator},
		{name: "input cut", do: func() { r.cut(r.in, inputCable) }},
	}
	if !r.exactly { // which has both ends on one cable
		all = append(all, fault{name: "output cut", do: func() { r.cut(r.out, outputCable) }})
	}
	if r.in == r.out {
		all = append(all, fault{name: "broker restart", do: r.in.restart})
	} else {
		all = append(all, fault{name: "input broker restart", do: r.in.restart},
			fault{name: "output broker restart", do: r.out.restart})
	}
	if r.distributed() {
		all = append(all, rebalance)
	}
	return all
}

// throughAllFaults lets one fault after another happen, each after a quarter of
// its share of the messages has come out while the load goes on, and waits
// until the share is complete.
func throughAllFaults(t *testing.T, c combination) {
	if !peertest.Required() {
		t.Skipf("takes minutes; %s=1 sends every message through every fault", peertest.RequirePeers)
	}
	count := fullCount
	if testing.Short() {
		count = shortCount
	}
	r := newRig(t, c, count)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	produced := make(chan error, 1)
	go func() { produced <- r.produce(ctx) }()

	t.Logf("%-26s %7s %7s %5s %6s %6s %6s %8s", "", "sent", "arrived", "lost", "again", "order", "errors", "time")
	faults := r.faults()
	began, from, before := time.Now(), 0, state{}
	for i, f := range faults {
		start, to := time.Now(), count*(i+1)/len(faults)
		if f.gradual {
			r.allow(from + (to-from)/2)
		} else {
			r.allow(to)
		}
		r.await(r.stream.good(from + (to-from)/4))
		f.do()
		r.allow(to)
		lost := r.complete(to)
		now, _ := r.tally.state()
		errors, _ := r.reports(from, to)
		t.Logf("%-26s %7d %7d %5d %6d %6d %6d %8s", f.name, to-from, now.arrived-before.arrived, lost,
			now.again-before.again, now.disorder-before.disorder, errors, time.Since(start).Round(100*time.Millisecond))
		require.Zero(t, lost, "%s: messages are missing, such as %v", f.name, r.tally.missing())
		from, before = to, now
	}
	require.NoError(t, <-produced)
	first := count / len(faults) // from here on the error topic was on
	if c.spread {
		first = 0
	}
	failed := count - first - (r.stream.good(count) - r.stream.good(first))
	require.Eventually(t, func() bool {
		errors, _ := r.reports(first, count)
		return errors >= failed
	}, patience, retry, "the error topic lacks malformed messages")
	r.server.Stop() // commits what is to commit: nothing more comes after that

	now, _ := r.tally.state()
	errors, errorsAgain := r.reports(first, count)
	took := time.Since(began)
	t.Logf("%-26s %7d %7d %5d %6d %6d %6d %8s (%.0f messages/s)", "all", count, now.arrived,
		r.stream.good(count)-now.arrived,
		now.again, now.disorder, errors, took.Round(100*time.Millisecond), float64(count)/took.Seconds())
	require.Zero(t, now.wrong, "messages came out that are not the graph of one that was sent: %v", r.tally.complaints())
	require.Equal(t, r.stream.good(count), now.arrived)
	if !c.spread {
		require.Zero(t, now.disorder, "first appearances of a key are out of order")
	}
	t.Logf("all %d malformed messages while the error topic was on are there, %d of them again", failed, errorsAgain)
	if c.exactly {
		require.Zero(t, now.again, "messages came twice to a reader of what is committed, such as %v", r.tally.doubled())
	}
}

// await waits until a number of messages has come out.
func (r *rig) await(arrived int) {
	r.t.Helper()
	late := time.After(patience)
	for {
		now, changed := r.tally.state()
		if now.arrived >= arrived {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.Failf(r.t, "messages are missing", "%d of %d came out within %s", now.arrived, arrived, patience)
		}
	}
}

// complete waits until the first messages have all come out, and returns how
// many never did.
func (r *rig) complete(first int) (lost int) {
	r.t.Helper()
	late := time.After(patience)
	for {
		now, changed := r.tally.state()
		lost = r.stream.good(first) - now.arrived
		if lost <= 0 {
			return 0
		}
		select {
		case <-changed:
		case <-late:
			return lost
		}
	}
}

// toggleErrors switches the error topic off and on while the load goes on, and
// leaves it on. Nothing disturbs the connections, so the sums are exact: every
// message came in once and was published or failed, and every failure is in
// the log, and on the error topic where that was on.
func (r *rig) toggleErrors() {
	half := r.limit
	share := 2 * half
	good := r.stream.good(share)
	r.switchErrors(false)
	r.allow(half + half/2)
	r.await(r.stream.good(r.limit)) // some failed that are not reported
	r.allow(share)
	for on := true; ; on = !on {
		r.switchErrors(on)
		now, changed := r.tally.state()
		if on && now.arrived >= good {
			break
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		}
	}
	sum := func() int {
		return r.counter(r.server, "messages_published_total") + r.counter(r.server, "messages_failed_total")
	}
	require.Eventually(r.t, func() bool { return sum() >= share }, patience, retry, "published + failed = sent")
	require.Equal(r.t, share, r.counter(r.server, "messages_received_total"), "received")
	require.Equal(r.t, good, r.counter(r.server, "messages_published_total"), "published")
	require.Equal(r.t, share-good, r.counter(r.server, "messages_failed_total"), "failed")
	require.Equal(r.t, share-good, r.logged("a"), "failures in the log")
	reported, again := r.reports(0, share)
	require.Zero(r.t, again, "no failure is reported twice")
	require.Less(r.t, reported, share-good, "the error topic was off for a while")
	require.Positive(r.t, reported, "the error topic was on for a while")
	r.t.Logf("%d sent = %d published + %d failed; of these %d on the error topic, the others in the log only",
		share, good, share-good, reported)
}

func (r *rig) switchErrors(on bool) {
	r.t.Helper()
	status, text := interop.Ask(r.t, http.MethodPatch, r.server.URL+"/channels/"+channelID,
		fmt.Appendf(nil, `{"errorTopicEnabled": %t}`, on))
	require.Equal(r.t, http.StatusOK, status, text)
}

// killAnnotator is a crash.
func (r *rig) killAnnotator() {
	r.server.Kill()
	r.server = r.start("a")
}

// stopAnnotator is a shutdown in good order, under load, and within its limit
// of 20 s, give or take what a busy machine needs to end a process.
func (r *rig) stopAnnotator() {
	began := time.Now()
	r.server.Stop()
	took := time.Since(began)
	require.Less(r.t, took, time.Minute, "SIGTERM under load")
	r.t.Logf("the annotator ended %s after SIGTERM", took.Round(time.Millisecond))
	r.server = r.start("a")
}

// cut takes a cable away for a while.
func (r *rig) cut(e end, cable string) {
	e.cut(cable)
	select {
	case <-time.After(cutFor):
	case <-r.t.Context().Done():
	}
	e.restore(cable)
}

// rebalance lets a second annotator take over a share, then all when the first
// one dies, and give it back when the first one is there again. The load goes
// on in portions that become smaller, so that there is some at every moment.
func (r *rig) rebalance() {
	second := r.start("b")
	r.create(second)
	rest := r.stream.count / len(r.faults()) / 4 // for each of the two times that it works
	works := func() {
		r.t.Helper()
		goal, from, asked := r.counter(second, "messages_published_total")+1, r.limit, 0
		require.Eventually(r.t, func() bool {
			asked++
			r.allow(from + rest*asked/(asked+50)) // half of it in 10 s, and never all
			return r.counter(second, "messages_published_total") >= goal
		}, patience, 4*retry, "the second annotator gets no messages")
	}
	works()
	r.server.Kill()
	works()
	r.server = r.start("a")
	second.Stop()
	if r.spread {
		// The broker goes on to queue a share for a member of MQTT that has
		// left, until its session expires: it has to come back.
		r.start("b")
	}
}
