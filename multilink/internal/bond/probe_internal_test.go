package bond

import (
	"testing"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
)

// A probe of three links from one bond to the other, Tick and Receive: it
// allocates nothing.
func BenchmarkProbe(b *testing.B) {
	links := []settings.Link{{Name: "wifi", Kind: settings.WiFi}, {Name: "mesh", Kind: settings.Mesh, Priority: 1},
		{Name: "5g", Kind: settings.FiveG, Priority: 2}}
	now := time.Now()
	one, _ := New(settings.Bond{}, links, 1, now)
	two, _ := New(settings.Bond{}, links, 2, now)
	var out, back Output
	probes := 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(10 * time.Millisecond)
		for _, end := range [][2]*Bond{{one, two}, {two, one}} {
			out.Reset()
			end[0].Tick(now, &out)
			for _, p := range out.Packets {
				end[1].Receive(now, p.Link, p.Data(), &back)
				p.Buffer.Release()
				probes++
			}
			for _, p := range back.Packets {
				p.Buffer.Release()
			}
			back.Reset()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(probes, 1)), "ns/probe")
}
