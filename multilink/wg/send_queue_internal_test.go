package wg

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func fill(ls *sendQueue, l *tunnelQueue, n int, format string) (taken int) {
	for i := range n {
		one, _ := ls.push(l, []*waiting{ls.take(l, fmt.Appendf(nil, format, i), time.Now())})
		taken += one
	}
	return taken
}

// drain takes out what there is now.
func drain(ls *sendQueue, most int) (all []string) {
	out := make([]*waiting, batch)
	for len(all) < most {
		n, _ := ls.pull(out[:min(batch, most-len(all))], time.Now())
		if n == 0 {
			break
		}
		for _, p := range out[:n] {
			all = append(all, string(p.data))
			ls.release(p)
		}
	}
	return all
}

func readyLane(ls *sendQueue) *tunnelQueue {
	l := newTunnelQueue(address{}, address{})
	ls.setReady(l, true)
	return l
}

func TestSendQueue_pull_takesControlPacketsFirst(t *testing.T) {
	ls := newSendQueue()
	a, b := readyLane(ls), readyLane(ls)
	fill(ls, a, 2, "a%d")
	fill(ls, b, 2, "b%d")
	ls.pushControl(ls.take(b, []byte("probe"), time.Now()))
	require.Equal(t, []string{"probe", "a0", "a1", "b0", "b1"}, drain(ls, 10))
}

func TestSendQueue_pull_alternatesBetweenTunnels(t *testing.T) {
	ls := newSendQueue()
	a, b := readyLane(ls), readyLane(ls)
	fill(ls, a, 100, "a%d")
	fill(ls, b, 1, "b%d")
	got := drain(ls, 200)
	require.Len(t, got, 101)
	require.Equal(t, "b0", got[turn])
}

func TestSendQueue_push_signalsWhenThereIsRoomAgain(t *testing.T) {
	ls := newSendQueue()
	l := readyLane(ls)
	require.Equal(t, dataLimit, fill(ls, l, dataLimit, "%d"))
	one := ls.take(l, []byte("more"), time.Now())
	taken, ready := ls.push(l, []*waiting{one})
	require.Zero(t, taken)
	require.True(t, ready)
	require.Empty(t, l.space)
	drain(ls, 1)
	require.NotEmpty(t, l.space)
	taken, _ = ls.push(l, []*waiting{one})
	require.Equal(t, 1, taken)
}

func TestSendQueue_push_keepsTheNewestWithoutKeys(t *testing.T) {
	ls := newSendQueue()
	l := newTunnelQueue(address{}, address{})
	require.Equal(t, dataLimit+3, fill(ls, l, dataLimit+3, "%d"))
	require.Empty(t, drain(ls, 1))
	require.EqualValues(t, 3, ls.droppedBy(l))
	ls.setReady(l, true)
	require.Equal(t, []string{"3"}, drain(ls, 1))

	for i := range controlLimit + 1 {
		ls.pushControl(ls.take(l, fmt.Appendf(nil, "c%d", i), time.Now()))
	}
	require.Equal(t, []string{"c1"}, drain(ls, 1))
}

func TestSendQueue_pull_dropsOldPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newSendQueue()
		l := newTunnelQueue(address{}, address{})
		fill(ls, l, 3, "old %d")
		ls.pushControl(ls.take(l, []byte("old"), time.Now()))
		time.Sleep(maxAge + 1)
		fill(ls, l, 1, "new %d")
		ls.setReady(l, true)
		require.Equal(t, []string{"new 0"}, drain(ls, 10))
		require.EqualValues(t, 4, ls.droppedBy(l))
	})
}

func TestSendQueue_pull_boundsDataUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newSendQueue()
		l := readyLane(ls)
		fill(ls, l, dataLimit, "%d")
		require.Len(t, drain(ls, maxWindow), maxWindow)
		fill(ls, l, 10, "more %d")
		require.Empty(t, drain(ls, 1))
		ls.pushControl(ls.take(l, []byte("probe"), time.Now()))
		require.Equal(t, []string{"probe"}, drain(ls, 10))

		ls.begin()
		ls.end(5, false, time.Now())
		require.Len(t, drain(ls, 10), 4)

		// What never reaches the socket is given up after a while, but not as
		// long as the socket is at work.
		ls.begin()
		time.Sleep(2 * stall)
		require.Empty(t, drain(ls, 1))
		ls.end(0, false, time.Now())
		require.Empty(t, drain(ls, 1))
		time.Sleep(stall)
		require.NotEmpty(t, drain(ls, 1))
	})
}

func TestSendQueue_end_narrowsTheWindowOfAStuckSocket(t *testing.T) {
	ls := newSendQueue()
	for range 10 {
		ls.begin()
		ls.end(0, true, time.Now())
	}
	require.Equal(t, minWindow, ls.window)
	for range maxWindow {
		ls.begin()
		ls.end(0, false, time.Now())
	}
	require.Equal(t, maxWindow, ls.window)
}

func TestSendQueue_next_returnsForPacketsAndOnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newSendQueue()
		l := readyLane(ls)
		got := make(chan int)
		go func() {
			out := make([]*waiting, batch)
			for {
				n := ls.next(out)
				got <- n
				if n == 0 {
					return
				}
			}
		}()
		synctest.Wait()
		fill(ls, l, 1, "%d")
		require.Equal(t, 1, <-got)
		ls.remove(l)
		fill(ls, l, 1, "%d")
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("a removed tunnel sent")
		default:
		}
		ls.close()
		require.Zero(t, <-got)
	})
}

func TestInflow_waitsForReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInflow()
		began := time.Now()
		f.enter(maxInflow - 1)
		require.Zero(t, time.Since(began))
		f.enter(1) // nothing moves: they are lost
		require.Equal(t, stall, time.Since(began))
		require.Zero(t, f.pending.Load())

		f.busy.Add(1)
		go func() {
			time.Sleep(time.Second)
			f.busy.Add(-1)
			f.leave(10)
		}()
		began = time.Now()
		f.enter(maxInflow)
		require.Equal(t, time.Second, time.Since(began))
		require.EqualValues(t, maxInflow-10, f.pending.Load())
	})
}
