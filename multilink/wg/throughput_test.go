package wg_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/wg"
)

// BenchmarkSend moves packets of 1,400 bytes over loopback in batches of 64,
// with and without the kernel's segmentation and coalescing. Both ends share the
// machine. Unsent is what Send gave up, lost what was sent and did not arrive.
func BenchmarkSend(b *testing.B) {
	for name, opts := range map[string]*wg.Options{"offload": nil, "single": {NoOffload: true}} {
		b.Run(name, func(b *testing.B) {
			server, client := newEnd(b, multilink.UnderlayConfig{}, opts), newEnd(b, multilink.UnderlayConfig{}, opts)
			var arrived atomic.Int64
			_, err := server.Open(multilink.TunnelPeer{PublicKey: client.public}, func(packets [][]byte) {
				arrived.Add(int64(len(packets)))
			})
			require.NoError(b, err)
			up, err := client.Open(multilink.TunnelPeer{PublicKey: server.public, Endpoint: server.at("127.0.0.1")}, func([][]byte) {})
			require.NoError(b, err)
			require.Eventually(b, func() bool {
				_ = up.SendControl(packet("ready?"))
				return arrived.Load() > 0
			}, patience, time.Millisecond)

			batch := make([][]byte, 64)
			for i := range batch {
				batch[i] = make([]byte, 1400)
			}
			b.SetBytes(1400)
			b.ReportAllocs()
			arrived.Store(0)
			b.ResetTimer()
			for sent := 0; sent < b.N; {
				n := min(len(batch), b.N-sent)
				require.NoError(b, up.Send(batch[:n]))
				sent += n
			}
			pause := time.NewTicker(20 * time.Millisecond)
			defer pause.Stop()
			var last int64 = -1
			for now := arrived.Load(); now < int64(b.N) && now != last; now = arrived.Load() {
				last = now
				<-pause.C
			}
			b.StopTimer()
			unsent := up.Stats().Dropped
			lost := int64(b.N) - min(arrived.Load(), int64(b.N)) - int64(unsent)
			b.ReportMetric(100*float64(unsent)/float64(b.N), "%unsent")
			b.ReportMetric(100*float64(max(lost, 0))/float64(b.N), "%lost")
		})
	}
}
