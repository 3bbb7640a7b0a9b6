//go:build linux

package kernel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

func TestProbe_parse_readsWhatAppendWrites(t *testing.T) {
	wrote := probe{Hears: true, LossRx: 7, Sequence: 1 << 60, Sent: 5 * time.Hour, Echo: time.Second, Held: 3,
		Interval: 10 * time.Millisecond, Longest: 1420, PathMTU: 1336}
	read, err := parseProbe(wrote.append(nil))
	require.NoError(t, err)
	require.Equal(t, wrote, read)
	padded := wrote.padded(1420)
	require.Len(t, padded, 1420-probeHeaders)
	read, err = parseProbe(padded)
	require.NoError(t, err)
	require.Equal(t, wrote, read)
}

func TestProbe_append_isWhatEarlierReleasesRead(t *testing.T) {
	require.Len(t, probe{Sequence: 1, Interval: time.Second, Longest: 1420}.append(nil), probeSize)
}

func TestProbe_parse_refusesInvalidFields(t *testing.T) {
	good := probe{Sequence: 1, Sent: 1, Interval: time.Second}
	for name, bad := range map[string][]byte{
		"empty":            nil,
		"short":            good.append(nil)[:probeSize-1],
		"another version":  append([]byte{0}, good.append(nil)[1:]...),
		"a negative time":  probe{Sequence: 1, Sent: -1, Interval: time.Second}.append(nil),
		"an age":           probe{Sequence: 1, Held: 1 << 62, Interval: time.Second}.append(nil),
		"no interval":      probe{Sequence: 1}.append(nil),
		"a rare interval":  probe{Sequence: 1, Interval: time.Hour}.append(nil),
		"a rapid interval": probe{Sequence: 1, Interval: time.Microsecond}.append(nil),
	} {
		_, err := parseProbe(bad)
		require.ErrorIs(t, err, multilink.ErrInvalid, name)
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(probe{Hears: true, Sequence: 9, Sent: 8, Echo: 7, Held: 6, Interval: time.Second}.append(nil), int64(time.Second))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, packet []byte, at int64) {
		p, err := parseProbe(packet)
		if err != nil {
			return
		}
		again, err := parseProbe(p.append(nil))
		require.NoError(t, err)
		require.Equal(t, p, again)
		now := time.Duration(at) & (1<<55 - 1)
		w := newWatch(settings.Probe{}, 0, 1420)
		w.take(now, p, len(packet))
		w.tick(now)
		require.GreaterOrEqual(t, w.srtt, time.Duration(0))
		require.GreaterOrEqual(t, w.lossRx(), 0.0)
		require.LessOrEqual(t, w.lossRx(), 1.0)
		require.GreaterOrEqual(t, w.limit(), w.interval)
	})
}
